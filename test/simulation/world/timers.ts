import type { Process } from './process.js'
import type { Task } from './task.js'

export interface Timer {
  readonly at: number
  readonly process: Process
  readonly callback: () => void
  /** It keeps no world alive that has nothing else to do. */
  readonly isWeak: boolean
  /** On whose behalf it was set. */
  readonly task: Task | undefined
}

/** All timers of a world, few at any time. */
export interface Timers {
  /** The function returned cancels it. One that is `first` comes before all that are due with it. */
  add(timer: Timer, place?: 'first'): () => void
  /** The one that fires first; of two at once, the one that was set first, unless the other has its place before it. */
  next(): Timer | undefined
  remove(timer: Timer): void
  drop(process: Process): void
  hasStrong(): boolean
  /** As they will fire, if nothing happens before. */
  inOrder(): readonly Timer[]
}

export function timers(): Timers {
  let all: Timer[] = []
  const remove = (timer: Timer) => {
    const index = all.indexOf(timer)
    if (index >= 0) all.splice(index, 1)
  }
  return {
    add(timer, place) {
      if (!timer.process.isAlive) return () => {}
      if (place === 'first') all.unshift(timer)
      else all.push(timer)
      return () => remove(timer)
    },
    next() {
      let first: Timer | undefined
      for (const timer of all) if (first === undefined || firesAt(timer) < firesAt(first)) first = timer
      return first
    },
    remove,
    drop(process) {
      all = all.filter((timer) => timer.process !== process)
    },
    hasStrong: () => all.some(({ isWeak }) => !isWeak),
    inOrder: () => all.toSorted((a, b) => firesAt(a) - firesAt(b)),
  }
}

/** A process that is stopped sets no alarm off. */
function firesAt({ at, process }: Timer): number {
  return Math.max(at, process.frozenUntil)
}
