import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Fault, Stage } from '../support/stage.js'
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

/** How nobody knows what became of a charge. */
const doubts = [
  { of: 'killed at call.begun', lands: 'not_landed', arises: (stage: Stage) => killed(stage, 'call.begun') },
  { of: 'killed at call.answered', lands: 'landed', arises: (stage: Stage) => killed(stage, 'call.answered') },
  { of: 'whose connection was dropped', lands: 'landed', arises: (stage: Stage) => failed(stage, 'drop') },
  { of: 'whose charge was answered with 500', lands: 'landed', arises: (stage: Stage) => failed(stage, 'error') },
  { of: 'whose charge was lost on the way', lands: 'not_landed', arises: (stage: Stage) => failed(stage, 'lose') },
] as const

async function killed(stage: Stage, point: CrashPoint): Promise<void> {
  await stage.dies(point, ride)
  await stage.lives(leaseOver, sweep)
}

async function failed(stage: Stage, fault: Fault): Promise<void> {
  await stage.lives({ do: 'fault', fault }, ride)
}

/** Whoever finds out is killed too: what was asked is asked again, and what was settled stays settled. */
export function killedReconcilers(point: Extract<CrashPoint, `reconciler.${string}`>): Scenario[] {
  return doubts.flatMap(({ of, lands, arises }) =>
    recoveries.map((recovery) => ({
      title: `the doubt of a ride ${of}, finished by ${recovery}`,
      surroundings: { keys: 'forgotten' },
      async play(stage: Stage) {
        await arises(stage)
        const charges = lands === 'landed' ? 1 : 0
        expect(await stage.charges()).toBe(charges)
        await stage.dies(point, believable, reconcile)
        const isSettled = point === 'reconciler.settled'
        const recoveryPoint = lands === 'landed' && isSettled ? 'charge_created' : 'ride_created'
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
