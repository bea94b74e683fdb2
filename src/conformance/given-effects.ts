import assert from 'node:assert/strict'
import type { EffectClaim, EffectOutcome, EffectResult, NewEffect, StoredEffect } from '../engine/effect-store.js'
import { keyOf } from '../engine/key.js'
import type { Claim } from '../engine/record.js'
import type { Reservation } from '../engine/verdict.js'
import { claimed, completion } from './given.js'
import type { AnyStore, Stage } from './stage.js'

/** The effects that the cases write, and how they come to a worker. */

export const effectLeaseMs = 10_000
export const kind = 'receipt.send'

/** Of one phase; the key of its record makes its downstream key. */
export function effect(name: string, changes: Partial<NewEffect> = {}): NewEffect {
  return {
    kind,
    payload: Buffer.from(`{"for":"${name}"}`),
    downstreamKey: `down-${name}`,
    phase: 'finished',
    sequence: 1,
    order: undefined,
    dueInMs: 0,
    ...changes,
  }
}

/** One record for each, committed one after another. */
export async function written(stage: Stage, ...effects: readonly NewEffect[]): Promise<void> {
  for (const wanted of effects) await writtenBy(stage, { key: keyOf(wanted.downstreamKey) }, [wanted])
}

/** Effects and answer of one record. */
export async function writtenBy(
  { store, transaction }: Stage,
  changes: Partial<Reservation>,
  effects: readonly NewEffect[],
): Promise<Claim> {
  const claim = await claimed(store, changes)
  await transaction(store, claim, async () => ({
    value: undefined,
    write: { kind: 'complete', ...completion() },
    effects,
  }))
  return claim
}

export async function taken(
  stage: Stage,
  limit = 100,
  store: AnyStore = stage.store,
): Promise<readonly StoredEffect[]> {
  return stage.effects(store).claim({ kinds: [kind], limit, leaseMs: effectLeaseMs })
}

/** The only one that there is to take. */
export async function takenOne(stage: Stage): Promise<StoredEffect> {
  const [first, ...others] = await taken(stage)
  assert.ok(first !== undefined && others.length === 0, 'there should be one effect to claim')
  return first
}

export async function settled(stage: Stage, claim: EffectClaim, outcome: EffectOutcome): Promise<void> {
  assert.deepEqual(await stage.effects(stage.store).settle([{ claim, outcome }]), [true])
}

export async function found(stage: Stage, { id }: { readonly id: number }): Promise<StoredEffect> {
  const effect = await stage.effects(stage.store).find(id)
  assert.ok(effect !== undefined, 'the effect is gone')
  return effect
}

export const result: EffectResult = { providerId: 'rcpt_1', result: Buffer.from('{"sent":true}') }
export const done: EffectOutcome = { kind: 'done', ...result }
export const dead: EffectOutcome = { kind: 'dead', errorCode: 'card_closed' }
export const retry: EffectOutcome = { kind: 'retry', dueInMs: 1_000, errorCode: 'provider_busy' }
export const unknown: EffectOutcome = { kind: 'unknown', reconcileAfterMs: 2_000, errorCode: 'provider_timeout' }
export const release: EffectOutcome = { kind: 'release' }

/** In the words of their downstream keys. */
export function namesOf(effects: readonly StoredEffect[]): readonly string[] {
  return effects.map(({ downstreamKey }) => downstreamKey.replace('down-', ''))
}
