import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage } from '../support/stage.js'
import { crowd, leaseOver, muchLater, type Scenario, sweep } from './scenario.js'

/** As many as the application asks for at once: more than one of them travel together. */
const size = 8

/**
 * A crowd of charges that nobody but their handler knows of, whose reservations and answers travel together. What has committed
 * when the process dies is there, though nobody was told; what was on its way may be.
 */
export function killedCrowds(point: Extract<CrashPoint, `batch.${string}`>): Scenario[] {
  return [
    {
      title: 'a crowd of charges behind handlers that hide them, tried again at once and later',
      surroundings: { keys: 'forgotten' },
      async play(stage: Stage) {
        await stage.dies(point, crowd)
        const states = await stage.records()
        const isReserved = point === 'batch.reserved'
        const charged = isReserved ? 0 : size
        expect(await stage.charges()).toBe(charged)
        const moved = states.filter((state) => state === (isReserved ? 'in_progress' : 'completed'))
        expect(moved.length).toBeGreaterThan(1)
        expect(states).toHaveLength(isReserved ? moved.length : size)

        // Whoever was under way may still be, so that he is told to wait; and what nobody ever reserved, runs.
        const [answers] = await stage.lives<[Answer[]]>(crowd)
        const running = isReserved ? moved.length : size - moved.length
        expect(answers.filter(({ code }) => code === 'idempotency_key_in_progress')).toHaveLength(running)
        expect(answers.filter(({ replayed }) => replayed)).toHaveLength(isReserved ? 0 : moved.length)
        expect(await stage.charges()).toBe(isReserved ? size - moved.length : size)

        // Nobody knows what a handler that vanished has done: it is never run again.
        const [, swept, later, , last] = await stage.lives<[null, number, Answer[], null, Answer[]]>(
          leaseOver,
          sweep,
          crowd,
          muchLater,
          crowd,
        )
        expect(swept).toBe(running)
        for (const again of [later, last]) {
          expect(again.filter(({ code }) => code === 'outcome_unknown')).toHaveLength(running)
          expect(again.filter(({ status, replayed }) => status === 201 && replayed)).toHaveLength(size - running)
        }
        expect(await stage.charges()).toBe(isReserved ? size - moved.length : size)
      },
    },
  ]
}
