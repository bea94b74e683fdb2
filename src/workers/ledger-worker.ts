import type { Awaitable } from '../kernel/awaitable.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { agree, compareLedgers, type LedgerEntry, type LedgerReport } from './ledger.js'
import type { OurEntry, Window } from './ledger-ours.js'
import { pacedBy, refuse } from './options.js'
import { did } from './passes.js'
import { type Service, service } from './service.js'

/** Where the ledger of one provider is read. */
export interface LedgerSource {
  /** What the provider has done in this window, in any order, from wherever it lists that. */
  readonly entries: (window: Window) => Awaitable<AsyncIterable<LedgerEntry> | Iterable<LedgerEntry>>
  /** Which of our calls and effects went to this provider. Without it, all. */
  readonly ours?: (entry: OurEntry) => boolean
  /** Is given each report, whether the two agree or not. */
  readonly onReport?: (report: LedgerReport) => Awaitable<void>
}

export interface LedgerWorkerOptions {
  /** By the name of the provider. */
  readonly providers: Readonly<Record<string, LedgerSource>>
  /** Between two comparisons, at most. Default `'24h'`. */
  readonly every?: Duration
  /** What is younger than this may still be on its way and waits for the next comparison. Default `'1h'`. */
  readonly settle?: Duration
}

/**
 * Compares what providers say they have done with what we know, once a day. Doubts are what we know that we do not know; this
 * finds the rest. It changes nothing: each comparison is an event, and differences are a line in the log.
 *
 * A window begins where the last one that was compared has ended, so that nothing falls between two, and a provider whose
 * ledger could not be read is read further back the next time. The first window of a process is one interval long.
 */
export function ledgerWorker<Tx>(host: WorkersHost<Tx>, options: LedgerWorkerOptions): Service {
  const { providers, settle = `${workerBounds.ledgerSettleMs}ms` } = options
  const sources = Object.entries(providers ?? {})
  if (sources.length === 0) refuse('ledger: providers is empty; name each provider, and say where its ledger is read.')
  for (const [name, { entries }] of sources)
    if (typeof entries !== 'function')
      refuse(`ledger: provider "${name}" needs entries(window), which reads its ledger.`)
  const { everyMs } = pacedBy(options, 'ledger', workerBounds.ledgerMs, 1)
  const settleMs = parseDuration(settle, 'ledger: settle')
  const comparedUntil = new Map<string, number>()

  async function compared(name: string, { entries, ours, onReport }: LedgerSource): Promise<LedgerReport> {
    const until = host.clock.now() - settleMs
    const window = { since: comparedUntil.get(name) ?? until - everyMs, until }
    const ledger = await entries(window)
    const report = await compareLedgers({ hapax: host, ledger, ...window, settle, ...(ours && { ours }) })
    comparedUntil.set(name, until)
    tell(name, report)
    await onReport?.(report)
    return report
  }

  function tell(provider: string, report: LedgerReport): void {
    host.events.emit('ledger_compared', () => ({ provider, compared: report.compared.ours, ...differencesIn(report) }))
    if (agree(report)) return
    const found = Object.entries(differencesIn(report)).filter(([, count]) => count > 0)
    const words = found.map(([kind, count]) => `${count} ${kind}`).join(', ')
    const message = `the ledger of ${provider} differs from ours (${words}): look at each with "hapax reconcile --ledger".`
    host.log({ level: 'error', code: 'ledger_differs', message })
  }

  return service({
    ...host,
    name: 'ledger',
    everyMs,
    async pass(signal) {
      const counts = { agreed: 0, differed: 0 }
      let failure: unknown
      for (const [name, source] of sources) {
        if (signal.aborted) break
        try {
          counts[agree(await compared(name, source)) ? 'agreed' : 'differed']++
        } catch (error) {
          // One whose ledger cannot be read keeps no other from being compared.
          failure = error
        }
      }
      if (failure !== undefined) throw failure
      return { did: did(counts), left: 'nothing' }
    },
  })
}

function differencesIn(report: LedgerReport) {
  const { orphans, missing, open, contradicted, unconfirmed, doubled } = report
  return {
    orphans: orphans.count,
    missing: missing.count,
    open: open.count,
    contradicted: contradicted.count,
    unconfirmed: unconfirmed.count,
    doubled: doubled.count,
  }
}
