import assert from 'node:assert/strict'
import { isProblem, isReplayOf } from './expect.js'
import { type HttpShow, json } from './stage.js'

/** A key belongs to one tenant, and to one operation of his. */
export const scopes: Readonly<Record<string, HttpShow>> = {
  'two tenants with the same key run apart, and each gets his own answer again': async ({ serve }) => {
    let run = 0
    const { ask, runs } = await serve({ handler: () => json(201, `{"run":${++run}}`) })
    const acme = await ask({ tenant: 'acme' })
    const other = await ask({ tenant: 'other' })
    assert.equal(other.replayed, false)
    assert.notEqual(other.text, acme.text)
    isReplayOf(await ask({ tenant: 'acme' }), acme)
    isReplayOf(await ask({ tenant: 'other' }), other)
    assert.equal(runs(), 2)
  },

  'the same key on another route is refused, and runs nothing there': async ({ serve }) => {
    const { ask, runs } = await serve({}, { path: '/refunds' })
    await ask()
    isProblem(await ask({ path: '/refunds' }), 422, 'idempotency_key_reused_with_different_payload')
    assert.equal(runs(), 1)
  },

  'the same key on routes that are scopes of their own runs on each': async ({ serve }) => {
    const of = (route: string) => () => ({ tenant: 'acme', route })
    const { ask, runs } = await serve({ scope: of('payments') }, { path: '/refunds', scope: of('refunds') })
    const [first, other] = [await ask(), await ask({ path: '/refunds' })]
    assert.equal(other.replayed, false)
    isReplayOf(await ask(), first)
    isReplayOf(await ask({ path: '/refunds' }), other)
    assert.equal(runs(), 2)
  },

  'a caller whom the application no longer knows gets no replay': async ({ serve }) => {
    let isKnown = true
    const { ask, runs } = await serve({
      scope() {
        if (!isKnown) throw new Error('this credential was revoked')
        return 'acme'
      },
    })
    const { text } = await ask()
    isKnown = false
    const refused = await ask()
    assert.ok(refused.status >= 400, `was told ${refused.status}`)
    assert.notEqual(refused.text, text)
    assert.equal(runs(), 1)
  },
}
