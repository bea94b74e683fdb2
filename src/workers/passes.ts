import type { Paused } from '../effects/outages.js'
import { codeOf } from '../engine/name.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import type { Clock } from '../kernel/clock.js'
import { isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { backoffs } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'

/** What a pass did, counted by what happened. What did not happen is not counted. */
export type Did = Readonly<Record<string, number>>

/** One bounded pass. `more`: it was full, and there is probably more to do. */
export interface Pass {
  readonly did: Did
  readonly left: 'nothing' | 'more'
  /** Of a worker that asks providers: those that did not answer and are left alone. */
  readonly paused?: readonly Paused[]
}

/** The last that is known of a worker. Times are those of this process's clock. */
export interface WorkerStatus {
  readonly name: string
  readonly lastPassAt: number | undefined
  readonly lastDid: Did | undefined
  /** When it last found something to do. */
  readonly lastWorkAt: number | undefined
  /** Of the last pass, if that failed. */
  readonly lastError: { readonly at: number; readonly code: string; readonly inARow: number } | undefined
}

export interface PassesHost {
  readonly clock: Clock
  readonly chance: Chance
  readonly events: Pick<Emitter, 'emit'>
  readonly log: Log
}

/** Passes of a worker, each of which is told, and the last of which is known. */
export interface Passes {
  made(pass: () => Promise<Pass>): Promise<Pass>
  /** How long to rest after one that failed, or `undefined` when there is no engine to work for any more. */
  pauseAfter(error: unknown): number | undefined
  status(): WorkerStatus
}

export function passes(name: string, { clock, chance, events, log }: PassesHost): Passes {
  let last: Omit<WorkerStatus, 'name'> = {
    lastPassAt: undefined,
    lastDid: undefined,
    lastWorkAt: undefined,
    lastError: undefined,
  }

  return {
    async made(make) {
      const startedAt = clock.elapsed()
      try {
        const pass = await make()
        const at = clock.now()
        const lastWorkAt = Object.keys(pass.did).length > 0 ? at : last.lastWorkAt
        last = { lastPassAt: at, lastDid: pass.did, lastWorkAt, lastError: undefined }
        const { did, paused = [] } = pass
        events.emit('worker_passed', () => ({
          worker: name,
          did,
          ...(paused.length > 0 && { paused }),
          tookMs: clock.elapsed() - startedAt,
        }))
        return pass
      } catch (error) {
        const code = codeOf(error)
        last = { ...last, lastError: { at: clock.now(), code, inARow: (last.lastError?.inARow ?? 0) + 1 } }
        if (code !== 'engine_closed') events.emit('worker_failed', () => ({ worker: name, errorCode: code }))
        throw error
      }
    },
    pauseAfter(error) {
      if (isHapaxError(error, 'engine_closed')) return undefined
      const { code, inARow } = last.lastError ?? { code: codeOf(error), inARow: 1 }
      log({ level: 'warn', code: 'worker_failed', message: `the ${name} failed (${code}); it goes on after a pause.` })
      // At least half of it: chance must not undo that the pause grows.
      return backoffMs(backoffs.working, inARow, { ...chance, fraction: () => 0.5 + chance.fraction() / 2 })
    },
    status: () => ({ name, ...last }),
  }
}

/** Counts, without what did not happen. */
export function did(counts: Readonly<Record<string, number>>): Did {
  const some: Record<string, number> = {}
  for (const [name, count] of Object.entries(counts)) if (count > 0) some[name] = count
  return some
}
