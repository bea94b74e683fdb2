import assert from 'node:assert/strict'
import { aBody, aKey, head } from './client.js'
import { isProblem } from './expect.js'
import { gate } from './gate.js'
import { type HttpShow, paid } from './stage.js'

/** A client that goes away changes nothing: what began is finished, and what did not begin leaves no trace. */
export const goingAway: Readonly<Record<string, HttpShow>> = {
  'when the client goes away the handler finishes, and the retry gets its answer': async ({ serve, told }) => {
    const started = gate()
    const ended = gate()
    const { ask, wire, settled, runs } = await serve({
      async handler() {
        started.open()
        await ended.opened
        return paid()
      },
    })
    const completed = told('completed')
    const { write, leave } = await wire()
    write(whole)
    await started.opened
    await leave()
    await settled()
    ended.open()
    await completed
    const retry = await ask()
    assert.deepEqual([retry.status, retry.replayed], [201, true])
    assert.equal(runs(), 1)
  },

  'when the client goes away in the middle of a stream, the retry gets all of it': async ({ serve, told }) => {
    const started = gate()
    const ended = gate()
    async function* body() {
      yield Buffer.from('one ')
      started.open()
      await ended.opened
      yield Buffer.from('two')
    }
    const { ask, wire, settled, runs } = await serve({ handler: () => ({ status: 200, body: body() }) })
    const completed = told('completed')
    const { write, leave } = await wire()
    write(whole)
    await started.opened
    await leave()
    await settled()
    ended.open()
    await completed
    const retry = await ask()
    assert.deepEqual([retry.status, retry.text, retry.replayed], [200, 'one two', true])
    assert.equal(runs(), 1)
  },

  'when the client goes away before the answer is durable, the retry gets it': async ({ serve, store, told }) => {
    const { ask, wire, settled, runs } = await serve({})
    const completed = told('completed')
    const { reached, gate } = store.holdComplete()
    const { write, leave } = await wire()
    write(whole)
    await reached
    await leave()
    await settled()
    gate.open()
    await completed
    const retry = await ask()
    assert.deepEqual([retry.status, retry.replayed], [201, true])
    assert.equal(runs(), 1)
  },

  'when a handler outlives its time its caller is told, and what it answers later is kept for the retry': async ({
    serve,
    told,
  }) => {
    const ended = gate()
    const { ask, runs } = await serve({
      options: { lease: '100ms', maxRun: '200ms' },
      async handler() {
        await ended.opened
        return paid()
      },
    })
    const overran = told('overran')
    isProblem(await ask(), 409, 'idempotency_key_in_progress')
    await overran
    const completed = told('completed')
    ended.open()
    await completed
    const retry = await ask()
    assert.deepEqual([retry.status, retry.text, retry.replayed], [201, '{"id":"pay_1", "amount":100}', true])
    assert.equal(runs(), 1)
  },

  'when the client goes away in the middle of its body nothing runs, and the retry does': async ({ serve }) => {
    const { ask, wire, settled, runs } = await serve({})
    const { write, leave } = await wire()
    write(whole.slice(0, -5))
    await settled()
    await leave()
    await settled()
    assert.equal(runs(), 0)
    const retry = await ask()
    assert.deepEqual([retry.status, retry.replayed], [201, false])
    assert.equal(runs(), 1)
  },
}

const whole =
  head(`Idempotency-Key: ${aKey}`, 'Content-Type: application/json', `Content-Length: ${aBody.length}`) + aBody
