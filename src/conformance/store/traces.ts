import assert from 'node:assert/strict'
import { claimed, completed, completion, failed, reservation, retentionMs } from '../given.js'
import type { Show } from '../stage.js'

const first = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const second = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

/** Which run made an answer: what a replay is linked to. */
export const traces: Readonly<Record<string, Show>> = {
  'a run that was not traced leaves no trace': async ({ store }) => {
    assert.equal((await store.find(await completed(store)))?.trace, undefined)
  },

  'the trace of the run that made an answer comes with every replay, on any node': async ({ store, open }) => {
    const claim = await claimed(store, { trace: first })
    assert.equal((await store.find(claim))?.trace, first)
    await store.complete(claim, completion())
    const verdict = await (await open()).reserve(reservation({ trace: second }))
    assert.ok(verdict.kind === 'completed', `a replay was wanted, not ${verdict.kind}`)
    assert.equal(verdict.record.trace, first, 'who is given an answer has not made it')
    assert.equal((await store.find(claim))?.trace, first, 'a replay changes nothing')
  },

  'a run that goes on takes the place of the one before, traced or not': async ({ store }) => {
    const claim = await failed(store, { trace: first })
    assert.equal((await store.find(claim))?.trace, first)
    const again = await failed(store, { trace: second })
    assert.equal((await store.find(again))?.trace, second)
    await claimed(store)
    assert.equal((await store.find(again))?.trace, undefined)
  },

  'a key that is used anew after it expired has the trace of its new run': async ({ store, at }) => {
    const claim = await completed(store, { trace: first })
    await at(retentionMs)
    await claimed(store, { trace: second })
    assert.equal((await store.find(claim))?.trace, second)
  },

  'a tombstone keeps no trace': async ({ store, at }) => {
    const claim = await completed(store, { trace: first })
    await at(retentionMs)
    await store.reap(10)
    assert.equal((await store.find(claim))?.trace, undefined)
  },
}
