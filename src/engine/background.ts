import { type Clock, sleep } from '../kernel/clock.js'
import { Roster, type Rostered } from '../kernel/roster.js'
import { Stopping } from '../kernel/stopping.js'

/** Something that goes on, and wants to hear when nobody waits for it any more. */
export interface Task extends Rostered {
  /** Called when draining is over. */
  abandoned(): void
}

/** Work that outlives the request that began it: handlers whose caller is gone, answers that are not stored yet. */
export interface Background {
  /** Counts a task as under way until it leaves. Every request does this, so it makes nothing. */
  enter(task: Task): void
  leave(task: Task): void
  /** Counts the promise as under way until it settles. A failure is its owner's to report. */
  track<T>(promise: Promise<T>): Promise<T>
  /**
   * Resolves when nothing is under way any more. What still runs after `patienceMs` hears it by the signal, and has
   * `lastWordsMs` to write down how it ended.
   */
  drain(patienceMs: number, lastWordsMs: number): Promise<void>
  /** Stopped when draining is over: nobody waits for what still runs. */
  readonly ended: Stopping
}

export function background(clock: Clock): Background {
  const underWay = new Roster<Task>()
  /** Promises have nothing to hear, so they are only counted. */
  let tracked = 0
  const isIdle = () => underWay.size === 0 && tracked === 0
  const ended = new Stopping()
  let onIdle = () => {}

  function leave(task: Task): void {
    underWay.remove(task)
    if (isIdle()) onIdle()
  }

  function settle(): void {
    tracked--
    if (isIdle()) onIdle()
  }

  /** Waits for all that is under way, and for what follows from it, but no longer than `ms`. */
  async function settled(ms: number): Promise<void> {
    const deadline = clock.elapsed() + ms
    const enough = new Stopping()
    const bound = sleep(clock, ms, enough)
    while (!isIdle() && clock.elapsed() < deadline) {
      const idle = new Promise<void>((resolve) => {
        onIdle = resolve
      })
      await Promise.race([idle, bound])
    }
    enough.stop()
  }

  return {
    ended,
    enter: (task) => underWay.add(task),
    leave,
    track(promise) {
      tracked++
      promise.then(settle, settle)
      return promise
    },
    async drain(patienceMs, lastWordsMs) {
      await settled(patienceMs)
      ended.stop()
      for (const task of underWay.all()) task.abandoned()
      await settled(lastWordsMs)
    },
  }
}
