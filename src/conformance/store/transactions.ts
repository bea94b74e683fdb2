import assert from 'node:assert/strict'
import type { Claim } from '../../engine/record.js'
import type { Step } from '../../engine/store.js'
import { isHapaxError } from '../../kernel/errors.js'
import { present, same, verdictOf } from '../expect.js'
import {
  anotherRequest,
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  keys,
  leaseMs,
  reservation,
  retentionMs,
} from '../given.js'
import type { Show, Stage } from '../stage.js'

/** Business rows and the record in one commit: both or neither. */
export const transactions: Readonly<Record<string, Show>> = {
  'a transaction that completes shows its row and its answer together': async (stage) => {
    const { store, startedAt } = stage
    const claim = await claimed(store)
    const expiresAt = startedAt + retentionMs
    same(await stage.transaction(store, claim, insertThen(completing)), { value: 'the value', expiresAt })
    const other = await stage.open()
    assert.equal(await stage.countRows(), 1)
    const { answer, record } = verdictOf(await other.reserve(reservation()), 'completed')
    same(answer, completion().answer)
    same([record.completedAt, record.expiresAt], [startedAt, expiresAt])
  },

  'a transaction that ends a phase shows its row and its recovery point together': async (stage) => {
    const claim = await claimed(stage.store)
    await stage.at(1_000)
    const expiresAt = stage.startedAt + retentionMs
    same(await stage.transaction(stage.store, claim, insertThen(phase)), { value: 'the value', expiresAt })
    assert.equal(await stage.countRows(), 1)
    const record = present(await stage.store.find(claim))
    same(
      [record.state, record.recoveryPoint, record.leaseUntil],
      ['in_progress', checkpoint.recoveryPoint, stage.startedAt + 1_000 + leaseMs],
    )
    same(record.progress, checkpoint.progress)
  },

  'until it commits, nobody else sees anything of a transaction': async (stage) => {
    const other = await stage.open()
    const claim = await claimed(stage.store)
    const before = present(await other.find(claim))
    await stage.transaction(stage.store, claim, async (insert) => {
      await insert('not yet')
      assert.equal(await stage.countRows(), 0)
      same(await other.find(claim), before)
      return completing
    })
    assert.equal(await stage.countRows(), 1)
    assert.equal(present(await other.find(claim)).state, 'completed')
  },

  'a transaction whose body throws leaves nothing, and throws the same': async (stage) => {
    const claim = await claimed(stage.store)
    const before = present(await stage.store.find(claim))
    const error = new Error('the handler gave up')
    const thrown = await stage
      .transaction(stage.store, claim, async (insert) => {
        await insert('in vain')
        throw error
      })
      .catch((reason: unknown) => reason)
    assert.equal(thrown, error)
    assert.equal(await stage.countRows(), 0)
    same(await stage.store.find(claim), before)
  },

  'after a transaction that was rolled back the same claim may try again': async (stage) => {
    const claim = await claimed(stage.store)
    await assert.rejects(stage.transaction(stage.store, claim, () => Promise.reject(new Error('once'))))
    await stage.transaction(stage.store, claim, insertThen(completing))
    assert.equal(await stage.countRows(), 1)
  },

  'a claim whose lease was taken over commits nothing in a transaction': async (stage) => {
    const stale = await claimed(stage.store, { onLeaseOver: 'resume' })
    await stage.at(leaseMs)
    await claimed(stage.store)
    await commitsNothing(stage, stale)
  },

  'a claim of a released record commits nothing in a transaction': async (stage) => {
    const stale = await claimed(stage.store)
    await stage.store.release(stale)
    await claimed(stage.store)
    await commitsNothing(stage, stale)
  },

  'a claim of an expired generation commits nothing in a transaction': async (stage) => {
    const stale = await completed(stage.store)
    await stage.at(retentionMs)
    await claimed(stage.store, anotherRequest)
    await commitsNothing(stage, stale)
  },

  'a transaction that is repeated after it committed commits nothing more, and its answer stands': async (stage) => {
    const claim = await claimed(stage.store)
    await stage.transaction(stage.store, claim, insertThen(completing))
    const before = present(await stage.store.find(claim))
    await losesItsClaim(stage, claim, { value: 'again', write: { kind: 'complete', ...completion('again') } })
    assert.equal(await stage.countRows(), 1)
    same(await stage.store.find(claim), before)
  },

  'a claim in doubt ends no phase in a transaction': async (stage) => {
    const claim = await doubted(stage.store)
    await losesItsClaim(stage, claim, phase)
    assert.equal(await stage.countRows(), 0)
  },

  'the last claim may complete a doubt in a transaction, with its row': async (stage) => {
    const claim = await doubted(stage.store)
    await stage.transaction(stage.store, claim, insertThen(completing))
    assert.equal(await stage.countRows(), 1)
    assert.equal(present(await stage.store.find(claim)).state, 'completed')
  },

  'transactions of many claims at once each commit their own row and record': async (stage) => {
    const claims = await Promise.all(keys(10).map((key) => claimed(stage.store, { key })))
    await Promise.all(claims.map((claim) => stage.transaction(stage.store, claim, insertThen(completing))))
    assert.equal(await stage.countRows(), claims.length)
    for (const claim of claims) assert.equal(present(await stage.store.find(claim)).state, 'completed')
  },
}

const completing: Step<string> = { value: 'the value', write: { kind: 'complete', ...completion() } }
const phase: Step<string> = { value: 'the value', write: { kind: 'checkpoint', ...checkpoint } }

function insertThen<T>(step: Step<T>): (insert: (text: string) => Promise<void>) => Promise<Step<T>> {
  return async (insert) => {
    await insert('a ride')
    return step
  }
}

async function commitsNothing(stage: Stage, stale: Claim): Promise<void> {
  const before = present(await stage.store.find(stale))
  await losesItsClaim(stage, stale, completing)
  await losesItsClaim(stage, stale, phase)
  assert.equal(await stage.countRows(), 0)
  same(await stage.store.find(stale), before)
}

async function losesItsClaim(stage: Stage, claim: Claim, step: Step<string>): Promise<void> {
  const transaction = stage.transaction(stage.store, claim, insertThen(step))
  await assert.rejects(transaction, (error) => isHapaxError(error, 'claim_lost'))
}
