import { type Duration, parseDuration } from '../kernel/duration.js'
import { type Both, compareLedgers, isCompared, type LedgerReport } from '../workers/ledger.js'
import type { OpenEngine } from './engine.js'
import { ledgerFile, timeOf } from './ledger-file.js'
import { namesIn, nothingCompared, usage } from './usage.js'

export interface ComparisonFlags {
  readonly since?: string
  readonly until?: string
  readonly settle?: string
  readonly landed?: string
  readonly operations?: string
  readonly testify?: boolean
}

export interface Comparison {
  readonly report: LedgerReport
  /** All of them: as many as the ledger has keys, at most, which is bounded. */
  readonly open: readonly Both[]
}

/** Compares with a ledger in a file. Where nothing was compared nothing agrees, and nothing differs: that is told as itself. */
export async function comparison(
  hapax: OpenEngine['hapax'],
  ledger: string,
  flags: ComparisonFlags,
): Promise<Comparison> {
  const landed = namesIn('--landed', flags.landed)
  const operations = namesIn('--operations', flags.operations)
  const window = windowIn(flags)
  const seen = new Set<string>()
  const open: Both[] = []
  let lines = 0
  async function* counted() {
    for await (const entry of ledgerFile(ledger, landed ?? (flags.testify ? 'all_without_status' : 'all'))) {
      lines++
      yield entry
    }
  }
  const report = await compareLedgers({
    hapax,
    ledger: counted(),
    ...window,
    ours({ operation }) {
      seen.add(operation)
      return operations?.includes(operation) ?? true
    },
    onOpen: (one) => void open.push(one),
  })
  if (lines === 0) throw nothingCompared(`${ledger} ${emptyBecause(landed)}: nothing was compared.`)
  refuseUnseen(operations ?? [], seen, 'since' in window || 'until' in window ? 'window' : 'ever')
  if (!isCompared(report)) throw nothingCompared(nothingHere(ledger, report))
  return { report, open }
}

function windowIn(flags: ComparisonFlags) {
  const [since, until] = [timeOf(flags.since, '--since'), timeOf(flags.until, '--until')]
  if (since !== undefined && until !== undefined && since >= until) throw usage('--since must be before --until.')
  return {
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(flags.settle !== undefined && { settle: durationOf(flags.settle) }),
  }
}

function durationOf(text: string): Duration {
  try {
    parseDuration(text, '--settle')
  } catch (error) {
    throw usage((error as Error).message)
  }
  return text as Duration
}

function emptyBecause(landed: readonly string[] | undefined): string {
  return landed === undefined ? 'has no keys' : `has no line with the status ${landed.join(' or ')}`
}

function nothingHere(ledger: string, { pending }: LedgerReport): string {
  const young = pending.count === 0 ? '' : ` ${pending.count} of ours are younger than --settle.`
  return `Neither ${ledger} nor we have anything in the time of --since, --until and --settle: nothing was compared.${young}`
}

/**
 * A misspelt name would take everything of ours out of the comparison. Where we have nothing at all nobody can tell, and in a
 * window a name may have had a quiet day: that is only told.
 */
function refuseUnseen(operations: readonly string[], seen: ReadonlySet<string>, where: 'window' | 'ever'): void {
  const unseen = operations.find((name) => !seen.has(name))
  if (unseen === undefined || seen.size === 0) return
  const among = `there are ${[...seen].join(', ')}.`
  if (where === 'ever') throw usage(`--operations: we have no call and no effect of "${unseen}" to compare; ${among}`)
  console.error(`hapax: --operations: in this time we have no call and no effect of "${unseen}" to compare; ${among}`)
}
