import { newProcess, type Process } from './world/process.js'
import { newTask } from './world/task.js'
import type { World } from './world/world.js'

/** What is begun from outside: each thing at some time, and nobody waits for it. */
export interface Agenda {
  /** Who begins it. */
  readonly outside: Process
  /** `afterMs`: when so much time has passed, at the earliest. */
  sometime(words: string, begin: () => unknown, afterMs?: number): void
  /** All that was known from the start is on it. */
  start(): void
}

export function agendaOf(world: World): Agenda {
  const outside = world.add(newProcess('somebody'))
  const clock = world.clockOf(outside)
  let isStarted = false
  /** What may begin when so much time has passed: all of it at once, in any order. */
  const later = new Map<number, (() => void)[]>()
  return {
    outside,
    sometime(words, begin, afterMs = 0) {
      const happen = () => {
        world.task = newTask(world.noted)
        begin()
      }
      const ask = () => world.send({ process: outside, port: 'agenda', words: () => words, happen })
      if (afterMs === 0) ask()
      else if (isStarted) clock.after(afterMs, ask)
      else later.set(afterMs, [...(later.get(afterMs) ?? []), ask])
    },
    start() {
      isStarted = true
      for (const [afterMs, asks] of later)
        clock.after(afterMs, () => {
          for (const ask of asks) ask()
        })
    },
  }
}
