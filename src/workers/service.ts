import { codeOf } from '../engine/evidence.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import { type Clock, sleep } from '../kernel/clock.js'
import { isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { backoffs } from '../kernel/limits.js'
import type { Log } from '../kernel/log.js'
import { nap } from './nap.js'

/** What a pass did, counted by what happened. What did not happen is not counted. */
export type Did = Readonly<Record<string, number>>

/** One bounded pass. `more`: it was full, and there is probably more to do. */
export interface Pass {
  readonly did: Did
  readonly left: 'nothing' | 'more'
}

/** A worker: a loop around a bounded single pass. */
export interface Service {
  readonly name: string
  /** Makes one pass now, and throws if it fails. */
  runOnce(): Promise<Pass>
  /** Works until the signal aborts; what is under way then is finished. Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** Says that there may be something to do: the next pass is soon. */
  nudge(): void
  status(): WorkerStatus
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

export interface ServiceOptions {
  readonly name: string
  /** Between the end of one pass and the next, at most. */
  readonly everyMs: number
  /** Between two passes while there is more to do. */
  readonly fullPauseMs?: number
  /** Takes no new work once the signal aborts. */
  readonly pass: (signal: AbortSignal) => Promise<Pass>
  readonly clock: Clock
  readonly chance: Chance
  readonly events: Pick<Emitter, 'emit'>
  readonly log: Log
}

export function service(options: ServiceOptions): Service {
  const { name, everyMs, fullPauseMs = 0, clock, chance, events, log } = options
  const never = new AbortController().signal
  const resting = nap(clock)
  let last: Omit<WorkerStatus, 'name'> = {
    lastPassAt: undefined,
    lastDid: undefined,
    lastWorkAt: undefined,
    lastError: undefined,
  }

  async function passed(signal: AbortSignal): Promise<Pass> {
    const startedAt = clock.elapsed()
    try {
      const pass = await options.pass(signal)
      const at = clock.now()
      const lastWorkAt = Object.keys(pass.did).length > 0 ? at : last.lastWorkAt
      last = { lastPassAt: at, lastDid: pass.did, lastWorkAt, lastError: undefined }
      events.emit('worker_passed', () => ({ worker: name, did: pass.did, tookMs: clock.elapsed() - startedAt }))
      return pass
    } catch (error) {
      const code = codeOf(error)
      last = { ...last, lastError: { at: clock.now(), code, inARow: (last.lastError?.inARow ?? 0) + 1 } }
      if (code !== 'engine_closed') events.emit('worker_failed', () => ({ worker: name, errorCode: code }))
      throw error
    }
  }

  /** How long to rest, or `undefined` when there is no engine to work for any more. */
  async function next(signal: AbortSignal): Promise<number | undefined> {
    try {
      const { left } = await passed(signal)
      // Nodes that began together do not look together, and none rests longer than was promised.
      return left === 'more' ? fullPauseMs : Math.ceil(everyMs * (1 - chance.fraction() / 2))
    } catch (error) {
      if (isHapaxError(error, 'engine_closed')) return undefined
      const { code, inARow } = last.lastError ?? { code: codeOf(error), inARow: 1 }
      log({ level: 'warn', code: 'worker_failed', message: `the ${name} failed (${code}); it goes on after a pause.` })
      // At least half of it: chance must not undo that the pause grows.
      return backoffMs(backoffs.working, inARow, { ...chance, fraction: () => 0.5 + chance.fraction() / 2 })
    }
  }

  return {
    name,
    runOnce: () => passed(never),
    async run(signal) {
      while (!signal.aborted) {
        const restMs = await next(signal)
        if (restMs === undefined) return
        if (restMs > 0) await resting.rest(restMs, signal)
        // A store in memory never waits: others have their turn here.
        else await sleep(clock, 0, signal)
      }
    },
    nudge: resting.nudge,
    status: () => ({ name, ...last }),
  }
}

/** Counts, without what did not happen. */
export function did(counts: Readonly<Record<string, number>>): Did {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}
