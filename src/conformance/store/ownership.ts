import assert from 'node:assert/strict'
import type { Claim } from '../../engine/record.js'
import { present, same, verdictOf } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  halfDone,
  leaseMs,
  reservation,
  retentionMs,
  settlement,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** A store shares no memory with its callers: neither what it was given nor what it gave. */
export const ownership: Readonly<Record<string, Show>> = {
  'what was stored does not change when the buffers of the caller do': async ({ store }) => {
    const claim = await claimed(store)
    await lend({ ...checkpoint, progress: Buffer.from('a phase') }, (lent) => store.checkpoint(claim, lent))
    same(present(await store.find(claim)).progress, Buffer.from('a phase'))
    await lend(completion('an answer'), async (lent) => store.complete(claim, lent))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, completion('an answer').answer)
  },

  'what was settled does not change when the buffers of the caller do': async ({ store, startedAt }) => {
    const claim = await doubted(store)
    const landed = () => settlement({ kind: 'landed', recoveryPoint: 'charged', progress: Buffer.from('a charge') })
    await lend(landed(), (lent) => store.settle(claim, lent))
    const { progress, evidence } = present(await store.find(claim))
    same(progress, Buffer.from('a charge'))
    same(
      evidence.map(({ doubt: _, ...said }) => said),
      [{ ...landed().evidence, says: 'landed', at: startedAt }],
    )
  },

  'a replay may be overwritten, and the next one is the same': async ({ store }) => {
    const claim = await completed(store)
    await ownsNothingOf(store, claim, await store.reserve(reservation()))
    await ownsNothingOf(store, claim, await store.find(claim))
    await ownsNothingOf(store, claim, await store.list({ limit: 1 }))
  },

  'what a resumed claim was given may be overwritten, and the record stays': async ({ store }) => {
    const claim = await halfDone(store)
    await ownsNothingOf(store, claim, await store.reserve(reservation()))
  },

  'what a sweep gave may be overwritten, and the record stays': async ({ store, at }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    await at(leaseMs)
    await ownsNothingOf(store, claim, await store.sweep(1))
  },

  'what was abandoned may be overwritten by who was given it, and the record stays': async ({ store, at }) => {
    const claim = await halfDone(store)
    await at(retentionMs)
    await ownsNothingOf(store, claim, await store.abandon({ operations: [], limit: 1 }))
  },
}

/** Takes the value back when the step is done, and overwrites it. */
async function lend<T>(value: T, step: (lent: T) => Promise<unknown>): Promise<void> {
  assert.ok(await step(value))
  overwrite(value)
}

/** Overwrites what the store handed out, and finds the record as it was. */
async function ownsNothingOf(store: AnyStore, claim: Claim, handedOut: unknown): Promise<void> {
  const before = structuredClone(await store.find(claim))
  overwrite(handedOut)
  same(await store.find(claim), before)
}

/** All the way down. What is frozen stays as it is. */
function overwrite(value: unknown): void {
  if (value instanceof Uint8Array) value.fill(0xff)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      if (typeof inner === 'object') overwrite(inner)
      else Reflect.set(value, name, 'overwritten')
    }
  }
}
