import assert from 'node:assert/strict'
import type { Got } from './client.js'
import { isProblem, saysWhen } from './expect.js'
import { gate } from './gate.js'
import type { HttpShow } from './stage.js'
import { paid } from './stage.js'

/** Callers of one key at the same time: one runs, and the others are told as the route says. */
export const concurrency: Readonly<Record<string, HttpShow>> = {
  'of twenty callers at once one runs, and the others are told to come back': async ({ serve }) => {
    const { handler, ended } = slow()
    const { ask, runs } = await serve({ handler })
    let refused = 0
    const all = await Promise.all(
      twenty.map(async () => {
        const got = await ask()
        if (got.status === 409 && ++refused === twenty.length - 1) ended.open()
        return got
      }),
    )
    const [winner, ...others] = all.sort((a, b) => a.status - b.status)
    assert.equal(winner?.status, 201)
    for (const got of others) {
      isProblem(got, 409, 'idempotency_key_in_progress')
      saysWhen(got)
    }
    assert.equal(runs(), 1)
  },

  'of twenty callers that may wait one runs, and all get its bytes': async ({ serve }) => {
    const { handler, ended } = slow()
    const arrived = gate()
    let callers = 0
    const { ask, runs, settled } = await serve({
      options: { concurrency: 'wait' },
      scope() {
        if (++callers === twenty.length) arrived.open()
        return 'acme'
      },
      handler,
    })
    const asked = twenty.map(() => ask())
    await arrived.opened
    await settled()
    ended.open()
    const all = await Promise.all(asked)
    for (const { status, text } of all) assert.deepEqual([status, text], [201, '{"id":"pay_1", "amount":100}'])
    assert.equal(all.filter(({ replayed }) => !replayed).length, 1, 'one is the first, the others are replays')
    assert.equal(runs(), 1)
  },

  'a caller that does not want to wait is told that its request was accepted': async ({ serve }) => {
    const { handler, started, ended } = slow()
    const { ask, runs } = await serve({ options: { concurrency: 'accept', statusAt }, handler })
    const first = ask()
    await started.opened
    const second = await ask()
    assert.equal(second.status, 202)
    assert.equal(second.headers.get('location'), statusAt)
    saysWhen(second)
    assert.equal(second.headers.get('cache-control'), 'no-store')
    ended.open()
    assert.equal((await first).status, 201)
    assert.equal((await ask()).replayed, true)
    assert.equal(runs(), 1)
  },

  'another request under a key that is in use is told so, not to come back': async ({ serve }) => {
    for (const mode of ['reject', 'wait', 'accept'] as const) {
      const { handler, started, ended } = slow()
      const { ask } = await serve({ options: { concurrency: mode, statusAt }, handler })
      const first: Promise<Got> = ask({ key: mode })
      await started.opened
      const other = await ask({ key: mode, body: '{"amount":999}' })
      isProblem(other, 422, 'idempotency_key_reused_with_different_payload')
      ended.open()
      assert.equal((await first).status, 201)
    }
  },
}

const statusAt = '/idempotency/status'

const twenty = Array.from({ length: 20 })

/** A handler that says when it starts and ends when it is told. */
function slow() {
  const started = gate()
  const ended = gate()
  const handler = async () => {
    started.open()
    await ended.opened
    return paid()
  }
  return { handler, started, ended }
}
