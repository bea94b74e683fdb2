import type { Engine } from '../engine/engine.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { workerBounds } from '../kernel/limits.js'
import { type OurEntry, oursIn } from './ledger-ours.js'
import { refuse } from './options.js'

/** One thing that a provider says it has done. Times are milliseconds since 1970. */
export interface LedgerEntry {
  /** The downstream key that the provider was sent. */
  readonly key: string
  /** The provider's name for it. */
  readonly id?: string
  readonly amount?: string
  readonly status?: string
  readonly at?: number
}

export interface LedgerOptions<Tx> {
  readonly hapax: Pick<Engine<Tx>, 'calls' | 'outbox' | 'clock' | 'open'>
  /** What the provider has, in any order. It is read once, and held: `workerBounds.ledgerEntries` at most. */
  readonly ledger: AsyncIterable<LedgerEntry> | Iterable<LedgerEntry>
  /** Only what began, or was done, from then on and before then is judged. Everything is compared with. */
  readonly since?: number
  readonly until?: number
  /** What is younger than this may still be on its way and is not judged. Default `'1h'`. */
  readonly settle?: Duration
  /** Which of our calls and effects went to this provider. Without it, all. */
  readonly ours?: (entry: OurEntry) => boolean
}

/** Both directions. Of each kind the first are listed, and all are counted. */
export interface LedgerReport {
  readonly compared: { readonly provider: number; readonly ours: number }
  /** The provider has it, and we know nothing of it. */
  readonly orphans: Differences<LedgerEntry>
  /** We hold it as done, and the provider does not have it. */
  readonly missing: Differences<OurEntry>
  /** The provider has it, and we do not know yet: a testimony settles it. */
  readonly open: Differences<Both>
  /** The provider has it, and we hold that it was not done, or gave it up. */
  readonly contradicted: Differences<Both>
  /** The provider has it twice, under different ids. */
  readonly doubled: Differences<LedgerEntry>
}

export interface Both {
  readonly ours: OurEntry
  readonly theirs: LedgerEntry
}

export interface Differences<T> {
  readonly count: number
  readonly first: readonly T[]
}

/**
 * Compares what a provider says it has done with what we know, by downstream keys, in both directions. Changes nothing.
 *
 * @example
 * const report = await compareLedgers({ hapax, ledger: entriesOf(await gateway.exportDay(day)) })
 * if (!agree(report)) await page(report)
 */
export async function compareLedgers<Tx>(options: LedgerOptions<Tx>): Promise<LedgerReport> {
  const { hapax, ours: isTheirs = () => true } = options
  const isJudged = judging(options)
  const doubled = differences<LedgerEntry>()
  const theirs = await held(options.ledger, doubled)
  const compared = { provider: theirs.size, ours: 0 }
  const missing = differences<OurEntry>()
  const open = differences<Both>()
  const contradicted = differences<Both>()

  await hapax.open()
  for await (const ours of oursIn(hapax)) {
    const entry = theirs.get(ours.key)
    // Whoever filters says whose they are; a key that is in the ledger is the provider's, whatever the filter says.
    if (entry === undefined && !isTheirs(ours)) continue
    compared.ours++
    theirs.delete(ours.key)
    if (!isJudged(ours.at)) continue
    if (entry === undefined) {
      if (ours.says === 'landed') missing.add(ours)
    } else if (ours.says === 'open') open.add({ ours, theirs: entry })
    else if (ours.says === 'not_landed') contradicted.add({ ours, theirs: entry })
  }
  const orphans = differences<LedgerEntry>()
  for (const entry of theirs.values()) if (entry.at === undefined || isJudged(entry.at)) orphans.add(entry)
  return {
    compared,
    orphans: orphans.all(),
    missing: missing.all(),
    open: open.all(),
    contradicted: contradicted.all(),
    doubled: doubled.all(),
  }
}

/** Whether both sides have the same. */
export function agree({ orphans, missing, open, contradicted, doubled }: LedgerReport): boolean {
  return [orphans, missing, open, contradicted, doubled].every(({ count }) => count === 0)
}

function judging<Tx>({ hapax, since, until, settle }: LedgerOptions<Tx>): (at: number) => boolean {
  const settleMs = settle === undefined ? workerBounds.ledgerSettleMs : parseDuration(settle, 'settle')
  const from = since ?? Number.NEGATIVE_INFINITY
  const to = until ?? Number.POSITIVE_INFINITY
  if (!(from < to)) refuse('compareLedgers(): since must be before until.')
  const settledAt = hapax.clock.now() - settleMs
  return (at) => at >= from && at < to && at <= settledAt
}

async function held(
  ledger: LedgerOptions<never>['ledger'],
  doubled: ReturnType<typeof differences<LedgerEntry>>,
): Promise<Map<string, LedgerEntry>> {
  const theirs = new Map<string, LedgerEntry>()
  for await (const entry of ledger) {
    const known = theirs.get(entry.key)
    if (known === undefined) theirs.set(entry.key, entry)
    // A ledger may have many lines about one thing; two names are two things.
    else if (known.id !== undefined && entry.id !== undefined && known.id !== entry.id) doubled.add(entry)
    if (theirs.size > workerBounds.ledgerEntries)
      throw new HapaxError(
        'policy_invalid',
        `The ledger has more than ${workerBounds.ledgerEntries} keys. Compare shorter windows, one after another.`,
      )
  }
  return theirs
}

function differences<T>() {
  const first: T[] = []
  let count = 0
  return {
    add(one: T): void {
      count++
      if (first.length < workerBounds.ledgerListed) first.push(one)
    },
    all: (): Differences<T> => ({ count, first }),
  }
}
