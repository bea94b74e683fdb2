import type { Duration } from '../kernel/duration.js'
import { isHapaxError } from '../kernel/errors.js'
import { workerBounds } from '../kernel/limits.js'
import { wordsOf } from '../kernel/log.js'
import type { WorkersHost } from './host.js'
import { agree, type LedgerReport } from './ledger.js'
import type { LedgerSource } from './ledger-source.js'
import { type LedgerTurns, ledgerTurns } from './ledger-turns.js'
import { pacedBy, refuse } from './options.js'
import { did, type Pass } from './passes.js'
import { type Service, service } from './service.js'

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
 * ledger could not be read is read further back the next time. The first window of a process is one interval long. Each
 * provider has a turn of its own: one that fails is tried again soon, and the others are not read for that.
 */
export function ledgerWorker<Tx>(host: WorkersHost<Tx>, options: LedgerWorkerOptions): Service {
  const { providers, settle = `${workerBounds.ledgerSettleMs}ms` } = options
  const sources = Object.entries(providers ?? {})
  if (sources.length === 0) refuse('ledger: providers is empty; name each provider, and say where its ledger is read.')
  for (const [name, { entries }] of sources)
    if (typeof entries !== 'function')
      refuse(`ledger: provider "${name}" needs entries(window), which reads its ledger.`)
  const { everyMs } = pacedBy(options, 'ledger', workerBounds.ledgerMs, 1)
  const turns: readonly (readonly [string, LedgerTurns])[] = sources.map(([name, source]) => {
    const tellOf = (report: LedgerReport) => tell(name, report)
    return [name, ledgerTurns(host, source, { everyMs, settle, tell: tellOf })]
  })

  function tell(provider: string, report: LedgerReport): void {
    host.events.emit('ledger_compared', () => ({ provider, compared: report.compared.ours, ...differencesIn(report) }))
    if (agree(report)) return
    const found = Object.entries(differencesIn(report)).filter(([, count]) => count > 0)
    const words = found.map(([kind, count]) => `${count} ${kind}`).join(', ')
    const message = `the ledger of ${provider} differs from ours (${words}): look at each with "hapax reconcile --ledger".`
    host.log({ level: 'error', code: 'ledger_differs', message })
  }

  return service(host, {
    name: 'ledger',
    everyMs,
    dueInMs: () => Math.min(...turns.map(([, { dueInMs }]) => dueInMs())),
    async pass(signal) {
      const counts = { agreed: 0, differed: 0 }
      const failures: unknown[] = []
      let left: Pass['left'] = 'nothing'
      for (const [name, { dueInMs, next }] of turns) {
        if (signal.aborted) break
        if (dueInMs() > 0) continue
        try {
          const turn = await next()
          counts[agree(turn.report) ? 'agreed' : 'differed']++
          if (turn.left === 'more') left = 'more'
        } catch (error) {
          if (isHapaxError(error, 'engine_closed')) throw error
          // One whose ledger cannot be read keeps no other from being compared, and each is told.
          failures.push(error)
          const message = `the ledger of ${name} was not compared, and will be read again: ${wordsOf(error)}`
          host.log({ level: 'warn', code: 'ledger_failed', message })
        }
      }
      if (failures.length > 0) throw failures[0]
      return { did: did(counts), left }
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
