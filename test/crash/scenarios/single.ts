import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage } from '../support/stage.js'
import { allIsDoneOnce } from './after-all.js'
import { book, leaseOver, reconcile, recoveries, resume, type Scenario, state, sweep } from './scenario.js'

/** A request that is one transaction: a crash leaves all of it or nothing, and never a row that says it is under way. */
export function killedBookings(point: Extract<CrashPoint, `single.${string}`>): Scenario[] {
  return recoveries.map((recovery) => ({
    title: `a booking in one transaction, ${recovery === 'the retry' ? 'tried again at once' : 'after the workers have looked'}`,
    surroundings: { keys: 'honoured' },
    async play(stage: Stage) {
      await stage.dies(point, book)
      const isThere = point === 'single.committed'
      expect(await stage.records()).toEqual(isThere ? ['completed'] : [])
      expect(await stage.rows('rides')).toBe(isThere ? 1 : 0)
      if (recovery === 'the workers') {
        const [, ...found] = await stage.lives(leaseOver, sweep, resume, reconcile, state)
        expect(found).toEqual([0, [], [], isThere ? { state: 'completed', at: 'finished' } : null])
      }
      const [answer] = await stage.lives<[Answer]>(book)
      expect(answer).toMatchObject({ status: 201, replayed: isThere })
      await allIsDoneOnce(stage, book, answer)
    },
  }))
}
