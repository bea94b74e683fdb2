import { type Duration, parseDuration } from '../kernel/duration.js'
import { type Both, compareLedgers, type LedgerReport } from '../workers/ledger.js'
import type { OpenEngine } from './engine.js'
import { ledgerFile, timeOf } from './ledger-file.js'
import { namesIn, usage } from './usage.js'

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

/** Compares with a ledger in a file. Where nothing was compared nothing agrees: that is a failure. */
export async function comparison(
  hapax: OpenEngine['hapax'],
  ledger: string,
  flags: ComparisonFlags,
): Promise<Comparison> {
  const landed = namesIn('--landed', flags.landed)
  const operations = namesIn('--operations', flags.operations)
  const seen = new Set<string>()
  const open: Both[] = []
  const report = await compareLedgers({
    hapax,
    ledger: ledgerFile(ledger, landed ?? (flags.testify ? 'all_without_status' : 'all')),
    ...windowIn(flags),
    ours({ operation }) {
      seen.add(operation)
      return operations?.includes(operation) ?? true
    },
    onOpen: (one) => void open.push(one),
  })
  if (report.compared.provider === 0) throw nothingCompared(ledger, landed)
  refuseUnseen(operations ?? [], seen)
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

function nothingCompared(ledger: string, landed: readonly string[] | undefined): Error {
  const none = landed === undefined ? 'has no keys' : `has no line with the status ${landed.join(' or ')}`
  return new Error(`${ledger} ${none}: nothing was compared.`)
}

/** A misspelt name would take everything of ours out of the comparison. Where we have nothing at all nobody can tell. */
function refuseUnseen(operations: readonly string[], seen: ReadonlySet<string>): void {
  const unseen = operations.find((name) => !seen.has(name))
  if (unseen === undefined || seen.size === 0) return
  throw usage(`--operations: we have no call and no effect of "${unseen}"; there are ${[...seen].join(', ')}.`)
}
