import type { Clock } from '../kernel/clock.js'
import type { Emitter } from '../kernel/events.js'
import { timeText } from './views.js'

/** The last that this process has heard of a worker. */
export interface WorkerView {
  readonly name: string
  readonly last_pass_at?: string
  readonly last_did?: Readonly<Record<string, number>>
  readonly took_ms?: number
  readonly last_failed_at?: string
  readonly error_code?: string
}

/** Listens to the workers of this process. Those of other processes are watched by their metrics. */
export function workerWatch(events: Pick<Emitter, 'on'>, clock: Pick<Clock, 'now'>) {
  const known = new Map<string, WorkerView>()
  const note = (name: string, news: Omit<WorkerView, 'name'>) => known.set(name, { ...known.get(name), name, ...news })
  const deaf = [
    events.on('worker_passed', ({ worker, did, tookMs }) =>
      note(worker, { last_pass_at: timeText(clock.now()), last_did: did, took_ms: Math.round(tookMs) }),
    ),
    events.on('worker_failed', ({ worker, errorCode }) =>
      note(worker, { last_failed_at: timeText(clock.now()), error_code: errorCode }),
    ),
  ]
  return {
    seen: (): readonly WorkerView[] => [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    stop() {
      for (const stopHearing of deaf) stopHearing()
    },
  }
}
