import assert from 'node:assert/strict'
import type { Step } from '../../engine/store.js'
import { isHapaxError } from '../../kernel/errors.js'
import { present, same } from '../expect.js'
import { checkpoint, claimed, completion, leaseMs } from '../given.js'
import {
  done,
  effect,
  effectLeaseMs,
  found,
  namesOf,
  result,
  settled,
  taken,
  takenOne,
  written,
} from '../given-effects.js'
import type { Show, Stage } from '../stage.js'

/** Effects commit with the rows that ask for them, and end with the rows that follow from them. */
export const effectCommits: Readonly<Record<string, Show>> = {
  'a commit shows its row, its answer and its effects together': async (stage) => {
    const { store } = stage
    const other = await stage.open()
    const claim = await claimed(store)
    await stage.transaction(store, claim, async (insert) => {
      await insert('a ride')
      // Whoever claims would have to wait where there is one writer; whoever looks does not.
      same((await stage.effects(other).list({ limit: 10 })).effects, [])
      return completing
    })
    assert.equal(await stage.countRows(), 1)
    const record = present(await other.find(claim))
    same([record.state, record.hasEffects], ['completed', true])
    const [a, b] = await taken(stage, 10, other)
    same([a?.downstreamKey, b?.downstreamKey, a?.recordId], ['down-a', 'down-b', record.id])
  },

  'a phase shows its recovery point and its effects together, and the next phase may have its own': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    const write = { kind: 'checkpoint', ...checkpoint } as const
    const first = [effect('a', { phase: 'ride_created' })]
    await stage.transaction(store, claim, async () => ({ value: undefined, write, effects: first }))
    same(present(await store.find(claim)).recoveryPoint, checkpoint.recoveryPoint)
    same(namesOf(await taken(stage)), ['a'])
    const last = { ...completing, effects: [effect('b')] }
    await stage.transaction(store, claim, async () => last)
    same(namesOf(await taken(stage)), ['b'])
  },

  'a phase that rolls back leaves no effect': async (stage) => {
    const claim = await claimed(stage.store)
    const inVain = stage.transaction(stage.store, claim, async (insert) => {
      await insert('in vain')
      throw new Error('the handler gave up')
    })
    await assert.rejects(inVain)
    same(await taken(stage), [])
    await stage.transaction(stage.store, claim, async () => completing)
    same(namesOf(await taken(stage)), ['a', 'b'])
  },

  'a claim that was lost leaves neither row nor effect': async (stage) => {
    const { store } = stage
    const stale = await claimed(store, { onLeaseOver: 'resume' })
    await stage.at(leaseMs)
    await claimed(store)
    const late = stage.transaction(store, stale, async (insert) => {
      await insert('late')
      return completing
    })
    await assert.rejects(late, (error) => isHapaxError(error, 'claim_lost'))
    assert.equal(await stage.countRows(), 0)
    same((await stage.effects(store).list({ limit: 10 })).effects, [])
    assert.equal(present(await store.find(stale)).hasEffects, false)
  },

  'what follows from an effect commits with its settlement': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const other = await stage.open()
    await stage.effects(stage.store).apply(claim, result, async (tx) => {
      await stage.insert(tx, 'receipt sent')
      assert.equal(await stage.countRows(), 0)
      same((await stage.effects(other).find(claim.id))?.state, 'leased')
    })
    assert.equal(await stage.countRows(), 1)
    const { state, providerId, result: kept } = await found(stage, claim)
    same({ state, providerId, result: kept }, { state: 'done', ...result })
  },

  'what follows from an effect is undone when its lease was lost meanwhile': async (stage) => {
    await written(stage, effect('a'))
    const stale = await takenOne(stage)
    await stage.at(effectLeaseMs)
    const before = await takenOne(stage)
    await losesItsClaim(stage, stale)
    same(await found(stage, stale), before)
  },

  'what follows from an effect is applied once, however often it is tried': async (stage) => {
    await written(stage, effect('a'), effect('b'))
    const [a, b] = await taken(stage)
    assert.ok(a !== undefined && b !== undefined)
    await stage.effects(stage.store).apply(a, result, (tx) => stage.insert(tx, 'once'))
    await losesItsClaim(stage, a)
    await settled(stage, b, done)
    await losesItsClaim(stage, b)
    assert.equal(await stage.countRows(), 1)
  },

  'when applying fails, nothing is written, the error comes out as it was thrown, and it may be tried again': async (
    stage,
  ) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const error = new Error('no such ride')
    const { apply } = stage.effects(stage.store)
    const failing = apply(claim, result, async (tx) => {
      await stage.insert(tx, 'in vain')
      throw error
    })
    assert.equal(await failing.catch((reason: unknown) => reason), error)
    assert.equal(await stage.countRows(), 0)
    same(await found(stage, claim), claim)
    await apply(claim, result, (tx) => stage.insert(tx, 'a ride'))
    assert.equal(await stage.countRows(), 1)
  },
}

const completing: Step<undefined> = {
  value: undefined,
  write: { kind: 'complete', ...completion() },
  effects: [effect('a'), effect('b', { sequence: 2 })],
}

async function losesItsClaim(stage: Stage, claim: { readonly id: number; readonly fence: number }): Promise<void> {
  const rows = await stage.countRows()
  const late = stage.effects(stage.store).apply(claim, result, (tx) => stage.insert(tx, 'late'))
  await assert.rejects(late, (error) => isHapaxError(error, 'claim_lost'))
  assert.equal(await stage.countRows(), rows)
}
