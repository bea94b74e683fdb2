import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage } from '../support/stage.js'
import { chargedOnce } from './after-all.js'
import {
  believable,
  leaseOver,
  muchLater,
  reconcile,
  recoveries,
  resume,
  ride,
  type Scenario,
  state,
  sweep,
} from './scenario.js'

/** Whoever finds out is killed too: what was asked is asked again, and what was settled stays settled. */
export function killedReconcilers(point: Extract<CrashPoint, `reconciler.${string}`>): Scenario[] {
  const places = ['call.begun', 'call.answered'] as const
  return places.flatMap((place) =>
    recoveries.map((recovery) => ({
      title: `the doubt of a ride killed at ${place}, finished by ${recovery}`,
      surroundings: { keys: 'forgotten' },
      async play(stage: Stage) {
        await stage.dies(place, ride)
        const charges = await stage.charges()
        await stage.lives(leaseOver, sweep)
        await stage.dies(point, believable, reconcile)
        const isSettled = point === 'reconciler.settled'
        const recoveryPoint = place === 'call.answered' && isSettled ? 'charge_created' : 'ride_created'
        const [record] = await stage.lives(state)
        expect(record).toEqual({ state: isSettled ? 'failed_retryable' : 'unknown', at: recoveryPoint })
        expect(await stage.charges()).toBe(charges)
        const [, looked] = await stage.lives(muchLater, reconcile)
        expect(looked).toEqual(isSettled ? [] : ['settled'])
        expect(await stage.charges()).toBe(charges)
        const [finished] = await stage.lives<[Answer]>(recovery === 'the retry' ? ride : resume)
        if (recovery === 'the workers') expect(finished).toEqual(['answered'])
        else expect(finished).toMatchObject({ status: 201 })
        await chargedOnce(stage)
      },
    })),
  )
}
