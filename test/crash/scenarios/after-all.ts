import { expect } from 'vitest'
import type { Answer, Stage, Step } from '../support/stage.js'
import { effects, muchLater, reconcile, reconcileEffects, resume, sweep } from './scenario.js'

/**
 * What must be true in the end, however a ride was killed and by whom it was finished: one ride, one charge, one receipt; and
 * every retry from here on gets the same bytes, while the workers find nothing to do.
 */
export async function allIsDoneOnce(stage: Stage, again: Step, before?: Answer): Promise<void> {
  const [, first, , , , , , second] = await stage.lives<Answer[]>(
    effects,
    again,
    muchLater,
    sweep,
    resume,
    reconcile,
    reconcileEffects,
    again,
    effects,
  )
  const { body } = before ?? (first as Answer)
  expect(first).toMatchObject({ status: 201, body, replayed: true })
  expect(second).toMatchObject({ status: 201, body, replayed: true })
  expect(await stage.records()).toEqual(['completed'])
  expect(await stage.rows('rides')).toBe(1)
  expect(await stage.receipts()).toBe(1)
  expect(await stage.rows('receipts')).toBe(1)
}

/** The same for a ride that is charged for: the answer names the one charge there is. */
export async function chargedOnce(stage: Stage, before?: Answer): Promise<void> {
  await allIsDoneOnce(stage, { do: 'ride' }, before)
  expect(await stage.charges()).toBe(1)
  const [charge] = await stage.ledger()
  const [answer] = await stage.lives<[Answer]>({ do: 'ride' })
  expect(JSON.parse(answer.body)).toMatchObject({ charged: charge })
}
