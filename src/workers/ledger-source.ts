import type { Awaitable } from '../kernel/awaitable.js'
import { type Clock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { workerBounds } from '../kernel/limits.js'
import type { LedgerEntry, LedgerReport } from './ledger.js'
import type { OurEntry, Window } from './ledger-ours.js'

/** Where the ledger of one provider is read. */
export interface LedgerSource {
  /**
   * What the provider has done in this window, in any order, from wherever it lists that. It is asked for more than is judged:
   * from `settle` before that, or from the first try of an effect that was done since, up to now, so that what we began on one
   * side of an edge and the provider did on the other is found. Ten minutes are the longest that it may take.
   */
  readonly entries: (window: Window) => Awaitable<AsyncIterable<LedgerEntry> | Iterable<LedgerEntry>>
  /** Which of our calls and effects went to this provider. Without it, all. */
  readonly ours?: (entry: OurEntry) => boolean
  /** Is given each report, whether the two agree or not. If it fails, the same window is compared again. */
  readonly onReport?: (report: LedgerReport) => Awaitable<void>
}

/** What the provider lists in a window, or that it is more than may be held at once. */
export function linesOf(
  { entries }: LedgerSource,
  window: Window,
  clock: Clock,
): Promise<readonly LedgerEntry[] | 'too_many'> {
  let isLate = false
  async function read() {
    const lines: LedgerEntry[] = []
    for await (const line of await entries(window)) {
      if (isLate) break
      if (lines.push(line) > workerBounds.ledgerEntries) return 'too_many'
    }
    return lines
  }
  return within(clock, workerBounds.ledgerReadMs, read(), () => {
    isLate = true
    return new HapaxError(
      'call_timeout',
      `The ledger was not read within ${workerBounds.ledgerReadMs / 60_000} minutes.`,
    )
  })
}
