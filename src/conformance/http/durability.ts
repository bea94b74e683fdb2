import assert from 'node:assert/strict'
import { aBody, aKey, head, statusOf } from './client.js'
import { isProblem, saysWhen } from './expect.js'
import { type HttpShow, paid } from './stage.js'

/** Nothing runs before it is written down, and nothing is said before the answer is. */
export const durability: Readonly<Record<string, HttpShow>> = {
  'not a byte leaves before the answer is durable': async ({ serve, store }) => {
    const { wire, settled, runs } = await serve({})
    const { reached, gate } = store.holdComplete()
    const { write, received, ended } = await wire()
    write(head(`Idempotency-Key: ${aKey}`, 'Content-Type: application/json', `Content-Length: ${aBody.length}`) + aBody)
    await reached
    await settled()
    assert.equal(runs(), 1, 'the handler has answered')
    assert.equal(received(), '', 'and nobody heard of it')
    gate.open()
    assert.equal(statusOf(await ended), 201)
  },

  'not a byte of a stream leaves before the answer is durable': async ({ serve, store }) => {
    async function* body() {
      yield Buffer.from('one ')
      yield Buffer.from('two')
    }
    const { wire, settled } = await serve({ handler: () => ({ status: 200, body: body() }) })
    const { reached, gate } = store.holdComplete()
    const { write, received, ended } = await wire()
    write(head(`Idempotency-Key: ${aKey}`, 'Content-Length: 0'))
    await reached
    await settled()
    assert.equal(received(), '')
    gate.open()
    assert.equal(statusOf(await ended), 200)
  },

  'not a byte of an answer that is given in work.commit leaves before the commit is durable': async (stage) => {
    const { serve, store } = stage
    const { wire, settled, runs } = await serve({ handler: () => ({ ...paid(), by: 'commit' }) })
    const { reached, gate } = store.holdCommit()
    const { write, received, ended } = await wire()
    write(head(`Idempotency-Key: ${aKey}`, 'Content-Length: 0'))
    await reached
    await settled()
    assert.equal(runs(), 1, 'the handler has answered')
    assert.equal(received(), '', 'and nobody heard of it')
    gate.open()
    assert.equal(statusOf(await ended), 201)
  },

  'an answer whose commit failed is told to nobody, and the retry runs': async ({ serve, store }) => {
    const { ask, runs } = await serve({ handler: () => ({ ...paid(), by: 'commit' }) })
    store.fail('complete')
    const first = await ask()
    isProblem(first, 503, 'store_failed')
    assert.doesNotMatch(first.text, /pay_1/)
    store.mend()
    const second = await ask()
    assert.deepEqual([second.status, second.text, second.replayed], [201, '{"id":"pay_1", "amount":100}', false])
    assert.equal((await ask()).replayed, true)
    assert.equal(runs(), 2)
  },

  'while the store is down nothing runs': async ({ serve, store }) => {
    const { ask, runs } = await serve({})
    store.fail('reserve')
    const refused = await ask()
    isProblem(refused, 503, 'idempotency_store_unavailable')
    saysWhen(refused)
    assert.equal(runs(), 0)
    store.mend()
    const first = await ask()
    assert.deepEqual([first.status, first.replayed], [201, false])
    assert.equal(runs(), 1)
  },

  'an answer that could not be stored is not told, its key is kept, and later it replays': async (stage) => {
    const { serve, store, told } = stage
    const { ask, runs } = await serve({})
    store.fail('complete')
    const first = await ask()
    isProblem(first, 503, 'answer_not_stored')
    saysWhen(first)
    isProblem(await ask(), 409, 'idempotency_key_in_progress')
    const late = told('completed_late')
    store.mend()
    await late
    const second = await ask()
    assert.deepEqual([second.status, second.replayed], [201, true])
    assert.equal(second.text, '{"id":"pay_1", "amount":100}')
    assert.equal(runs(), 1)
  },
}
