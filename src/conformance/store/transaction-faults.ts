import assert from 'node:assert/strict'
import type { Step } from '../../engine/store.js'
import { present, same } from '../expect.js'
import { failsTyped, recovered } from '../faulty.js'
import { claimed, completion } from '../given.js'
import type { Show } from '../stage.js'

/** A connection that is cut within a transaction: business rows and record still agree. */
export const transactionFaults: Readonly<Record<string, Show>> = {
  'a connection cut before COMMIT leaves neither row nor answer': async (stage) => {
    const other = await stage.open()
    const claim = await claimed(stage.store)
    const before = present(await other.find(claim))
    const transaction = stage.transaction(stage.store, claim, async (insert) => {
      await insert('in vain')
      await stage.cut(stage.store)
      return completing
    })
    await failsTyped(transaction, 'transaction')
    assert.equal(await stage.countRows(), 0)
    same(await other.find(claim), before)
  },

  'a connection cut around COMMIT leaves row and answer, or neither': async (stage) => {
    const other = await stage.open()
    const claim = await claimed(stage.store)
    const transaction = stage.transaction(stage.store, claim, async (insert) => {
      await insert('perhaps')
      return completing
    })
    const [outcome] = await Promise.allSettled([transaction, stage.cut(stage.store)])
    const { state } = present(await other.find(claim))
    assert.equal(await stage.countRows(), state === 'completed' ? 1 : 0)
    if (outcome.status === 'fulfilled') assert.equal(state, 'completed')
    else await failsTyped(transaction, 'transaction')
  },

  'after a transaction was cut off the same claim may try again': async (stage) => {
    const claim = await claimed(stage.store)
    const attempt = async (insert: (text: string) => Promise<void>) => {
      await insert('a ride')
      return completing
    }
    await stage.cut(stage.store)
    await failsTyped(stage.transaction(stage.store, claim, attempt), 'transaction')
    await recovered(() => stage.transaction(stage.store, claim, attempt))
    assert.equal(await stage.countRows(), 1)
    assert.equal(present(await stage.store.find(claim)).state, 'completed')
  },
}

const completing: Step<undefined> = { value: undefined, write: { kind: 'complete', ...completion() } }
