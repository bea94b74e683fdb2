import type { Chance } from '../kernel/chance.js'
import { sleep } from '../kernel/clock.js'
import { nap } from './nap.js'
import { type Pass, type PassesHost, passes, type WorkerStatus } from './passes.js'

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

export interface ServiceOptions {
  readonly name: string
  /** Between the end of one pass and the next, at most. */
  readonly everyMs: number
  /** Until the next pass is due, where it follows from what the last ones did. */
  readonly dueInMs?: () => number
  /** Between two passes while there is more to do. */
  readonly fullPauseMs?: number
  /** Takes no new work once the signal aborts. */
  readonly pass: (signal: AbortSignal) => Promise<Pass>
}

export function service(host: PassesHost, options: ServiceOptions): Service {
  const { clock, chance } = host
  const { name, everyMs, fullPauseMs = 0, pass } = options
  const { dueInMs = () => restMs(everyMs, chance) } = options
  const resting = nap(clock)
  const { made, pauseAfter, status } = passes(name, host)

  /** How long to rest, or `undefined` when there is no engine to work for any more. */
  async function next(signal: AbortSignal): Promise<number | undefined> {
    try {
      const { left } = await made(() => pass(signal))
      return left === 'more' ? fullPauseMs : dueInMs()
    } catch (error) {
      return pauseAfter(error)
    }
  }

  return {
    name,
    runOnce: () => made(() => pass(never)),
    async run(signal) {
      while (!signal.aborted) {
        const pauseMs = await next(signal)
        if (pauseMs === undefined) return
        if (pauseMs > 0) await resting.rest(pauseMs, signal)
        // A store in memory never waits: others have their turn here.
        else await sleep(clock, 0, signal)
      }
    },
    nudge: resting.nudge,
    status,
  }
}

/** Nodes that began together do not look together, and none rests longer than was promised. */
export function restMs(everyMs: number, chance: Chance): number {
  return Math.ceil(everyMs * (1 - chance.fraction() / 2))
}

/** For a single pass, which nobody ends. */
const never = new AbortController().signal
