import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage } from '../support/stage.js'
import { chargedOnce } from './after-all.js'
import {
  believable,
  bothKeys,
  leaseOver,
  type Recovery,
  reconcile,
  recoveries,
  resume,
  ride,
  type Scenario,
  state,
  sweep,
} from './scenario.js'

type RidePoint = Extract<CrashPoint, `phase.${string}` | `call.${string}` | `commit.${string}`>

/** What is on record, and what the provider has, once a ride was killed at the point. */
const left: Readonly<Record<RidePoint, { readonly at: string; readonly rides: number; readonly charges: number }>> = {
  'phase.open': { at: 'started', rides: 0, charges: 0 },
  'phase.committed': { at: 'ride_created', rides: 1, charges: 0 },
  'call.begun': { at: 'ride_created', rides: 1, charges: 0 },
  'call.answered': { at: 'ride_created', rides: 1, charges: 1 },
  'call.recorded': { at: 'charge_created', rides: 1, charges: 1 },
  'commit.open': { at: 'charge_created', rides: 1, charges: 1 },
  'commit.committed': { at: 'finished', rides: 1, charges: 1 },
}

/** An operation that is killed at each of its points, by each kind of provider, and finished by each who may. */
export function killedRides(point: RidePoint): Scenario[] {
  return bothKeys.flatMap((keys) =>
    recoveries.map((recovery) => ({
      title: `a ride, keys ${keys}, finished by ${recovery}`,
      surroundings: { keys },
      async play(stage: Stage) {
        await stage.dies(point, ride)
        await isLeft(stage, point)
        // Only where the provider forgets keys does nobody know what became of an open call.
        const isOpen = point === 'call.begun' || point === 'call.answered'
        if (isOpen && keys === 'forgotten') await findsOut(stage, point, recovery)
        else await goesOn(stage, point, recovery)
      },
    })),
  )
}

/** Until the lease is over nobody else may go on. */
async function isLeft(stage: Stage, point: RidePoint): Promise<void> {
  const { at, rides, charges } = left[point]
  expect(await stage.rows('rides')).toBe(rides)
  expect(await stage.charges()).toBe(charges)
  const isFinished = point === 'commit.committed'
  const [record, answer, resumed] = await stage.lives<[object, Answer, unknown]>(state, ride, resume)
  expect(record).toEqual({ state: isFinished ? 'completed' : 'in_progress', at })
  expect(answer.status).toBe(isFinished ? 201 : 409)
  expect(resumed).toEqual([])
}

async function goesOn(stage: Stage, point: RidePoint, recovery: Recovery): Promise<void> {
  if (recovery === 'the retry') {
    const [, answer] = await stage.lives<[null, Answer]>(leaseOver, ride)
    expect(answer).toMatchObject({ status: 201, replayed: point === 'commit.committed' })
    return chargedOnce(stage, answer)
  }
  const [, , doubts, resumed] = await stage.lives(leaseOver, sweep, reconcile, resume)
  expect(doubts).toEqual([])
  expect(resumed).toEqual(point === 'commit.committed' ? [] : ['answered'])
  await chargedOnce(stage)
}

/** In doubt first, and charged no more than once; then the provider says what became of it. */
async function findsOut(stage: Stage, point: RidePoint, recovery: Recovery): Promise<void> {
  const { at, charges } = left[point]
  const [, found, record] = await stage.lives(leaseOver, recovery === 'the retry' ? ride : sweep, state)
  if (recovery === 'the retry') expect(found).toMatchObject({ status: 409, code: 'outcome_unknown' })
  else expect(found).toBe(1)
  expect(record).toEqual({ state: 'unknown', at })
  const hasLanded = charges === 1
  const [early, looked] = await stage.lives(reconcile, state)
  // That it landed is believed at once; that it did not, only when a slow holder cannot have sent it any more.
  expect(early).toEqual([hasLanded ? 'settled' : 'put_off'])
  expect(looked).toEqual(
    hasLanded ? { state: 'failed_retryable', at: 'charge_created' } : { state: 'unknown', at: 'ride_created' },
  )
  if (!hasLanded) expect(await stage.lives(ride, resume)).toMatchObject([{ code: 'outcome_unknown' }, []])
  expect(await stage.charges()).toBe(charges)
  const [, late] = await stage.lives(believable, reconcile)
  expect(late).toEqual(hasLanded ? [] : ['settled'])
  expect(await stage.charges()).toBe(charges)
  const [finished] = await stage.lives(recovery === 'the retry' ? ride : resume)
  if (recovery === 'the workers') expect(finished).toEqual(['answered'])
  else expect(finished).toMatchObject({ status: 201 })
  await chargedOnce(stage)
}
