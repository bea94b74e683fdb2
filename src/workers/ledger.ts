import type { Engine } from '../engine/engine.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { workerBounds } from '../kernel/limits.js'
import { type OurEntry, oursIn, oursNamed, type Window } from './ledger-ours.js'
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
  /**
   * Only what began, or was done, from then on and before then is judged: by us or by the provider, so that what we began in one
   * window and the provider did in another is judged in both. A line without a time counts as in the window. Of ours only that
   * is read; what the ledger has besides is looked up by its key: it is not unknown to us because we began it at another time.
   */
  readonly since?: number
  readonly until?: number
  /**
   * From when on the ledger lists what was done, where that is before `since`. An effect that was first tried before may have
   * been done then, and is not missing in a ledger that does not reach back so far.
   */
  readonly ledgerSince?: number
  /** What is younger than this may still be on its way and is not judged. Default `'1h'`. */
  readonly settle?: Duration
  /** Which of our calls and effects went to this provider. Without it, all. */
  readonly ours?: (entry: OurEntry) => boolean
  /** Is given each that is open, though the report lists only the first. */
  readonly onOpen?: (one: Both) => void
}

/** Both directions. Of each kind the first are listed, and all are counted. */
export interface LedgerReport {
  /** What lies in the window, or has its like there, on each side, save for what is younger than `settle` and only one side has. */
  readonly compared: { readonly provider: number; readonly ours: number }
  /** The provider has it, and we know nothing of it. */
  readonly orphans: Differences<LedgerEntry>
  /** We hold it as done, and the provider does not have it. */
  readonly missing: Differences<OurEntry>
  /** The provider has it, and we do not know yet: a testimony settles it. */
  readonly open: Differences<Both>
  /** The provider has it, and we hold that it was not done, or gave it up. */
  readonly contradicted: Differences<Both>
  /** We do not know, and the provider does not have it, though it had the time to. */
  readonly unconfirmed: Differences<OurEntry>
  /** The same, but younger than `settle`: it may be on its way, and is no difference yet. */
  readonly pending: Differences<OurEntry>
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
  const { window, ledgerSince, placeOf, placeOfBoth } = judging(options)
  const doubled = differences<LedgerEntry>()
  const theirs = await held(options.ledger, (entries) => {
    // A line without a time counts as in the window.
    if (entries.some(({ at = window.since }) => placeOf(at) !== 'outside')) doubled.add(entries[1])
  })
  const compared = { provider: 0, ours: 0 }
  const missing = differences<OurEntry>()
  const open = differences<Both>()
  const contradicted = differences<Both>()
  const unconfirmed = differences<OurEntry>()
  const pending = differences<OurEntry>()

  function judge(ours: OurEntry): void {
    const entry = theirs.get(ours.key)
    // Whoever filters says whose they are; a key that is in the ledger is the provider's, whatever the filter says.
    if (!isTheirs(ours) && entry === undefined) return
    theirs.delete(ours.key)
    const place = entry === undefined ? placeOf(ours.at) : placeOfBoth(ours, entry)
    if (place === 'young' && entry === undefined && ours.says === 'open') pending.add(ours)
    if (place === 'outside' || (place === 'young' && entry === undefined)) return
    compared.ours++
    if (entry !== undefined) compared.provider++
    if (place === 'young') return
    if (entry === undefined) {
      if (ours.says === 'landed' && ours.begunAt >= ledgerSince) missing.add(ours)
      else if (ours.says === 'open') unconfirmed.add(ours)
    } else if (ours.says === 'open') {
      open.add({ ours, theirs: entry })
      options.onOpen?.({ ours, theirs: entry })
    } else if (ours.says === 'not_landed') contradicted.add({ ours, theirs: entry })
  }

  await hapax.open()
  for await (const ours of oursIn(hapax, window)) judge(ours)
  // What is left was begun at another time, or needs no word of the provider's, or is not ours.
  for await (const ours of oursNamed(hapax, [...theirs.keys()])) judge(ours)
  const orphans = differences<LedgerEntry>()
  for (const entry of theirs.values()) {
    if (entry.at !== undefined && placeOf(entry.at) !== 'judged') continue
    compared.provider++
    orphans.add(entry)
  }
  return {
    compared,
    orphans: orphans.all(),
    missing: missing.all(),
    open: open.all(),
    contradicted: contradicted.all(),
    unconfirmed: unconfirmed.all(),
    pending: pending.all(),
    doubled: doubled.all(),
  }
}

/** Whether both sides have the same, as far as it can be told: what is pending is no difference yet. */
export function agree({ orphans, missing, open, contradicted, unconfirmed, doubled }: LedgerReport): boolean {
  return [orphans, missing, open, contradicted, unconfirmed, doubled].every(({ count }) => count === 0)
}

/** Whether anything was compared at all. Where nothing was, nothing agrees either. */
export function isCompared({ compared, doubled }: LedgerReport): boolean {
  return compared.provider + compared.ours + doubled.count > 0
}

type Place = 'outside' | 'young' | 'judged'

interface Judging {
  readonly window: Window
  readonly ledgerSince: number
  readonly placeOf: (at: number) => Place
  readonly placeOfBoth: (ours: OurEntry, theirs: LedgerEntry) => Place
}

function judging<Tx>({ hapax, since, until, ledgerSince, settle }: LedgerOptions<Tx>): Judging {
  const settleMs = settle === undefined ? workerBounds.ledgerSettleMs : parseDuration(settle, 'settle')
  const from = since ?? Number.NEGATIVE_INFINITY
  const to = until ?? Number.POSITIVE_INFINITY
  if (!(from < to)) refuse('compareLedgers(): since must be before until.')
  const settledAt = hapax.clock.now() - settleMs
  const ageOf = (at: number): Place => (at > settledAt ? 'young' : 'judged')
  const placeOf = (at: number): Place => (at < from || at >= to ? 'outside' : ageOf(at))
  return {
    window: { since: from, until: to },
    ledgerSince: Math.min(ledgerSince ?? from, from),
    placeOf,
    placeOfBoth(ours, { at }) {
      // A line without a time counts as in the window, and is as old as what we began.
      const places = [placeOf(ours.at), at === undefined ? ageOf(ours.at) : placeOf(at)]
      return (['judged', 'young'] as const).find((place) => places.includes(place)) ?? 'outside'
    },
  }
}

async function held(
  ledger: LedgerOptions<never>['ledger'],
  onDoubled: (entries: readonly [known: LedgerEntry, again: LedgerEntry]) => void,
): Promise<Map<string, LedgerEntry>> {
  const theirs = new Map<string, LedgerEntry>()
  for await (const entry of ledger) {
    const known = theirs.get(entry.key)
    if (known === undefined) theirs.set(entry.key, entry)
    // A ledger may have many lines about one thing; two names are two things.
    else if (known.id !== undefined && entry.id !== undefined && known.id !== entry.id) onDoubled([known, entry])
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
