import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { compareLedgers, type LedgerEntry, type LedgerReport } from './ledger.js'
import { firstBegunIn, type Window } from './ledger-ours.js'
import { type LedgerSource, linesOf } from './ledger-source.js'
import type { Pass } from './passes.js'
import { restMs } from './service.js'

/** The comparisons with one provider, one after another. */
export interface LedgerTurns {
  /** Until the next one is due: at once after one that failed, or that left something. */
  dueInMs(): number
  next(): Promise<Pick<Pass, 'left'> & { readonly report: LedgerReport }>
}

export interface LedgerPace {
  readonly everyMs: number
  readonly settle: Duration
  /** Is told of each comparison before the next window begins. */
  readonly tell: (report: LedgerReport) => void
}

/**
 * A window begins where the last one that was compared, and reported, has ended. The first is one interval long, and begins
 * where it does however often it fails.
 */
export function ledgerTurns<Tx>(host: WorkersHost<Tx>, source: LedgerSource, pace: LedgerPace): LedgerTurns {
  const { clock, chance } = host
  const { everyMs, settle, tell } = pace
  const settleMs = parseDuration(settle, 'ledger: settle')
  const { ours, onReport } = source
  let since: number | undefined
  let dueAt = clock.elapsed()

  return {
    dueInMs: () => Math.max(0, dueAt - clock.elapsed()),
    async next() {
      await host.open()
      const until = clock.now() - settleMs
      since ??= until - everyMs
      const read = await readable(host, source, { since, until }, settleMs)
      const report = await compareLedgers({ hapax: host, ...read, settle, ...(ours && { ours }) })
      tell(report)
      await onReport?.(report)
      since = read.until
      if (read.until < until) return { report, left: 'more' }
      dueAt = clock.elapsed() + restMs(everyMs, chance)
      return { report, left: 'nothing' }
    },
  }
}

interface Readable extends Window {
  readonly ledger: readonly LedgerEntry[]
  readonly ledgerSince: number
}

/** As much of a window as can be held at once, from its beginning, with what the ledger lists on both sides of it. */
async function readable<Tx>(
  host: WorkersHost<Tx>,
  source: LedgerSource,
  { since, until }: Window,
  settleMs: number,
): Promise<Readable> {
  const first = Math.max(await firstBegunIn(host, { since, until }), since - workerBounds.ledgerReachMs)
  let [from, to] = [first, until]
  for (;;) {
    const ledgerSince = from - settleMs
    const ledger = await linesOf(source, { since: ledgerSince, until: to + settleMs }, host.clock)
    if (ledger !== 'too_many') return { since, until: to, ledger, ledgerSince }
    // Effects whose first try lies far back are let go first: they are a few, and not judged then.
    if (from < since) from = since
    else if (to - since > Math.max(1, settleMs)) to = since + Math.ceil((to - since) / 2)
    else throw tooMany()
  }
}

function tooMany(): HapaxError {
  const { ledgerEntries } = workerBounds
  const message = `The ledger has more than ${ledgerEntries} entries in the shortest window. Compare them elsewhere, or settle sooner.`
  return new HapaxError('policy_invalid', message)
}
