import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage, Step } from '../support/stage.js'
import { chargedOnce } from './after-all.js'
import { leaseOver, muchLater, reconcile, resume, ride, type Scenario, state, sweep } from './scenario.js'

const duplicate = { status: 200, body: '{"status":"ok","duplicate":true}' }
const processed = { status: 200, body: '{"status":"ok"}' }

/** A delivery that was interrupted leaves all of it or nothing, and the next one is told which. */
export function killedDeliveries(point: Extract<CrashPoint, `inbox.${string}`>): Scenario[] {
  const isThere = point === 'inbox.committed'
  const delivered: Scenario = {
    title: 'a webhook, delivered again',
    surroundings: { keys: 'honoured' },
    async play(stage) {
      const deliver: Step = { do: 'deliver', eventId: 'evt_1', event: { who: 'ann' } }
      await stage.dies(point, deliver)
      expect(await stage.rows('payments')).toBe(isThere ? 1 : 0)
      const [first, second] = await stage.lives<Answer[]>(deliver, deliver)
      expect(first).toMatchObject(isThere ? duplicate : processed)
      expect(second).toMatchObject(duplicate)
      expect(await stage.rows('payments')).toBe(1)
    },
  }
  return [delivered, evidence(point, 'again'), evidence(point, 'never again')]
}

/**
 * The webhook says what became of a charge that nobody else can say anything about. Once it is committed it must count,
 * although whoever would have acted on it at once is dead, and a further delivery is only a duplicate.
 */
function evidence(point: Extract<CrashPoint, `inbox.${string}`>, comes: 'again' | 'never again'): Scenario {
  return {
    title: `a webhook that ends a doubt, which comes ${comes}`,
    surroundings: { keys: 'forgotten', lookup: 'none' },
    async play(stage: Stage) {
      await stage.dies('call.answered', ride)
      const [, , left, doubted] = await stage.lives(leaseOver, sweep, reconcile, state)
      expect(left).toEqual(['left_to_operator'])
      expect(doubted).toEqual({ state: 'unknown', at: 'ride_created' })
      const [charge] = await stage.ledger()
      const deliver: Step = { do: 'deliver', eventId: 'evt_1', event: { who: 'ann', charge } }
      await stage.dies(point, deliver)
      const isThere = point === 'inbox.committed'
      const isToCome = !isThere || comes === 'again'
      if (isToCome) expect(await stage.lives(deliver)).toMatchObject([isThere ? duplicate : processed])
      const [, , , settled] = await stage.lives(muchLater, reconcile, resume, state)
      expect(settled).toEqual({ state: 'completed', at: 'finished' })
      expect(await stage.rows('payments')).toBe(1)
      await chargedOnce(stage)
    },
  }
}
