import assert from 'node:assert/strict'
import { isProblem, isReplayOf } from './expect.js'
import { type HttpShow, json, paid } from './stage.js'

/** What a handler that fails means to the next request is what its route says. */
export const failures: Readonly<Record<string, HttpShow>> = {
  'after a handler threw the retry runs again': async ({ serve }) => {
    const { ask, runs } = await serve({
      handler({ work }) {
        if (work.attempt === 1) throw new Error('the gateway said secret things')
        return paid()
      },
    })
    const first = await ask()
    assert.equal(first.status, 500)
    assert.doesNotMatch(first.text, /secret/)
    const second = await ask()
    assert.deepEqual([second.status, second.replayed], [201, false])
    isReplayOf(await ask(), second)
    assert.equal(runs(), 2)
  },

  'after an answer of 500 the retry runs again': async ({ serve }) => {
    const { ask, runs } = await serve({
      handler: ({ work }) => (work.attempt === 1 ? json(500, '{"oops":true}') : paid()),
    })
    const first = await ask()
    assert.deepEqual([first.status, first.text], [500, '{"oops":true}'])
    assert.equal((await ask()).status, 201)
    assert.equal(runs(), 2)
  },

  'a failure that the route keeps is what the retry gets': async ({ serve }) => {
    const { ask, runs } = await serve({
      options: { onError: 'store' },
      handler() {
        throw new Error('the gateway said secret things')
      },
    })
    const first = await ask()
    isProblem(first, 500, 'handler_failed')
    assert.doesNotMatch(first.text, /secret/)
    isReplayOf(await ask(), first)
    assert.equal(runs(), 1)
  },

  'an answer of 500 that the route keeps is what the retry gets': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { onError: 'store' }, handler: () => json(500, '{"oops":true}') })
    const first = await ask()
    assert.deepEqual([first.status, first.text], [500, '{"oops":true}'])
    isReplayOf(await ask(), first)
    assert.equal(runs(), 1)
  },

  'a handler that leaves doubt is never run again': async ({ serve }) => {
    const { ask, runs } = await serve({
      handler({ work }) {
        work.doubt('gateway_timeout')
        return paid()
      },
    })
    isProblem(await ask(), 409, 'outcome_unknown')
    isProblem(await ask(), 409, 'outcome_unknown')
    assert.equal(runs(), 1)
  },
}
