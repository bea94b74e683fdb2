import { expect } from 'vitest'
import type { CrashPoint } from '../../../dist/kernel/crash-points.js'
import type { Answer, Stage } from '../support/stage.js'
import { chargedOnce } from './after-all.js'
import {
  believable,
  bothKeys,
  effects,
  leaseOver,
  muchLater,
  reconcileEffects,
  ride,
  type Scenario,
} from './scenario.js'

type EffectPoint = Extract<CrashPoint, `effect.${string}`>

/** What the provider has, and what has followed from it, once a worker was killed at the point. */
const left: Readonly<Record<EffectPoint, { readonly sent: number; readonly applied: number }>> = {
  'effect.leased': { sent: 0, applied: 0 },
  'effect.begun': { sent: 0, applied: 0 },
  'effect.answered': { sent: 1, applied: 0 },
  'effect.recorded': { sent: 1, applied: 0 },
  'effect.applying': { sent: 1, applied: 0 },
  'effect.settled': { sent: 1, applied: 1 },
}

/** An effect worker that is killed at each of its points: the receipt is sent once, and its row is there once. */
export function killedWorkers(point: EffectPoint): Scenario[] {
  // Where the provider honours keys, nothing has to be durable before a call.
  const possible = point === 'effect.begun' ? (['forgotten'] as const) : bothKeys
  return possible.map((keys) => ({
    title: `a receipt, keys ${keys}`,
    surroundings: { keys },
    async play(stage: Stage) {
      await stage.dies(point, ride, effects)
      await isLeft(stage, point)
      const isOpen = point === 'effect.begun' || point === 'effect.answered'
      if (isOpen && keys === 'forgotten') await findsOut(stage, point)
      else {
        const [, passed] = await stage.lives(leaseOver, effects)
        expect(passed).toMatchObject({ done: point === 'effect.settled' ? 0 : 1, unknown: 0 })
      }
      await chargedOnce(stage)
    },
  }))
}

/** Until the lease is over no other worker may have it; and the ride's client has its answer, whatever became of this. */
async function isLeft(stage: Stage, point: EffectPoint): Promise<void> {
  const { sent, applied } = left[point]
  expect(await stage.receipts()).toBe(sent)
  expect(await stage.rows('receipts')).toBe(applied)
  const [answer, early] = await stage.lives<[Answer, object]>(ride, effects)
  expect(answer).toMatchObject({ status: 201, replayed: true })
  expect(early).toMatchObject({ claimed: 0 })
}

async function findsOut(stage: Stage, point: EffectPoint): Promise<void> {
  const { sent } = left[point]
  const [, swept, early] = await stage.lives(leaseOver, effects, reconcileEffects)
  expect(swept).toMatchObject({ claimed: 0 })
  expect(early).toMatchObject(sent === 1 ? { landed: 1 } : { postponed: 1 })
  const [, tooEarly] = await stage.lives(effects, effects)
  expect(tooEarly).toMatchObject({ claimed: 0 })
  expect(await stage.receipts()).toBe(sent)
  const [, late, passed] = await stage.lives(believable, reconcileEffects, effects)
  expect(late).toMatchObject(sent === 1 ? { looked: 0 } : { notLanded: 1 })
  expect(passed).toMatchObject({ done: sent === 1 ? 0 : 1 })
}

/** The reconciler of effects is killed at its points, too. */
export function killedEffectReconcilers(point: Extract<CrashPoint, `reconciler.${string}`>): Scenario[] {
  const places = ['effect.begun', 'effect.answered'] as const
  return places.map((place) => ({
    title: `the doubt of a receipt killed at ${place}`,
    surroundings: { keys: 'forgotten' },
    async play(stage: Stage) {
      await stage.dies(place, ride, effects)
      const { sent } = left[place]
      await stage.lives(leaseOver, effects)
      await stage.dies(point, believable, reconcileEffects)
      expect(await stage.receipts()).toBe(sent)
      const [, looked, passed] = await stage.lives(muchLater, reconcileEffects, effects)
      expect(looked).toMatchObject({ looked: point === 'reconciler.settled' ? 0 : 1 })
      expect(passed).toMatchObject({ done: 1 })
      await chargedOnce(stage)
    },
  }))
}
