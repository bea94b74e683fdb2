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
  /** Of its last pass, if that failed. */
  readonly error_code?: string
  /** Operations, or kinds of effects, whose provider did not answer and is left alone until then. */
  readonly paused?: readonly PauseView[]
}

export interface PauseView {
  readonly of: string
  readonly until: string
}

/** Listens to the workers of this process. Those of other processes are watched by their metrics. */
export function workerWatch(events: Pick<Emitter, 'on'>, clock: Pick<Clock, 'now'>) {
  const known = new Map<string, WorkerView>()
  const deaf = [
    events.on('worker_passed', ({ worker, did, tookMs, paused = [] }) => {
      const { last_failed_at } = known.get(worker) ?? {}
      known.set(worker, {
        name: worker,
        last_pass_at: timeText(clock.now()),
        last_did: did,
        took_ms: Math.round(tookMs),
        ...(last_failed_at !== undefined && { last_failed_at }),
        ...(paused.length > 0 && {
          paused: paused.map(({ of, forMs }) => ({ of, until: timeText(clock.now() + forMs) })),
        }),
      })
    }),
    events.on('worker_failed', ({ worker, errorCode }) => {
      const failed = { last_failed_at: timeText(clock.now()), error_code: errorCode }
      known.set(worker, { ...known.get(worker), name: worker, ...failed })
    }),
  ]
  return {
    seen: (): readonly WorkerView[] => [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    /** Until when the provider of an operation is left alone. That of an effect shows by when the effect is looked at next. */
    pausedUntil(operation: string): string | undefined {
      const pause = known.get('reconciler')?.paused?.find(({ of }) => of === operation)
      return pause !== undefined && Date.parse(pause.until) > clock.now() ? pause.until : undefined
    },
    stop() {
      for (const stopHearing of deaf) stopHearing()
    },
  }
}
