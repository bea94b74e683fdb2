import { setImmediate as turn } from 'node:timers/promises'
import { keyFormats, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { adapters, json, key, type RouteSketch, site } from './support/http-site.js'

/** What the five documents publish, each in its profile, over a real port. */

type Name = keyof typeof profiles

/** A route in a profile, and what finastra needs of it beside. */
function inProfile(name: Name, sketch: RouteSketch = {}): RouteSketch {
  const current = name === 'finastra' ? { currentState: () => undefined } : {}
  return { ...sketch, options: { profile: profiles[name], ...current, ...sketch.options } }
}

/** A site whose first request is under way until it is let go. */
async function busy(adapter: string, sketch: RouteSketch) {
  const [begun, go] = [gate(), gate()]
  const made = await site(adapter, {
    ...sketch,
    async handler(runs) {
      begun.open()
      await go.opened
      return json(201, { id: runs })
    },
  })
  const first = made.ask()
  await begun.opened
  return {
    ...made,
    letGo() {
      go.open()
      return first
    },
  }
}

const another = { body: '{"amount":900}' }

describe.each(adapters)('on %s', (adapter) => {
  test('finastra takes a UUID and the key of its own sample, as any string that is unique [S0-05]', async () => {
    const { ask, rows, runs } = await site(adapter, inProfile('finastra'))
    for (const sent of [key, 'A8Z5MHwQS7jUmZ']) {
      expect(await ask({ key: sent })).toMatchObject({ status: 201, replayed: false })
      expect(await ask({ key: sent })).toMatchObject({ status: 201, replayed: true })
    }
    expect([rows().length, runs()]).toEqual([2, 2])
  })

  test('finastra takes 40 characters and refuses 41 with 400, without a call of the handler [S0-12]', async () => {
    const { ask, rows, runs } = await site(adapter, inProfile('finastra'))
    expect((await ask({ key: 'k'.repeat(41) })).status).toBe(400)
    expect((await ask({ key: `"${'k'.repeat(41)}"` })).status).toBe(400)
    expect([rows(), runs()]).toEqual([[], 0])
    expect((await ask({ key: 'k'.repeat(40) })).status).toBe(201)
    expect(await ask({ key: `"${'k'.repeat(40)}"` })).toMatchObject({ status: 201, replayed: true })
  })

  test('finastra keeps status and body whether it succeeded or failed, and says them again [S0-09]', async () => {
    const statuses = [201, 402, 500, 502]
    const route = (status: number) =>
      inProfile('finastra', { path: `/${status}`, handler: () => json(status, { said: status }) })
    const { ask, row, runs } = await site(adapter, ...statuses.map(route))
    for (const status of statuses) {
      const asked = { path: `/${status}`, key: `key-${status}` }
      const [first, again] = [await ask(asked), await ask(asked)]
      expect([first.status, again.status, again.text]).toEqual([status, status, `{"said":${status}}`])
      expect(row(asked.key)).toMatchObject({ status: 'completed', response_status_code: status })
      expect(again.replayed).toBe(true)
    }
    expect(runs()).toBe(statuses.length)
  })

  test('a repeat tells under finastra how the resource is now, with 201, and by default what was said first [S0-23 S2-141]', async () => {
    const orders = new Map<number, string>()
    const handler = (id: number) => {
      orders.set(id, 'pending')
      return json(202, { id, status: 'pending' })
    }
    const currentState = (first: { readonly body: Uint8Array }) => {
      const { id } = JSON.parse(Buffer.from(first.body).toString())
      return { id, status: orders.get(id) }
    }
    const options = { profile: profiles.finastra, currentState }
    const { ask, runs } = await site(adapter, { path: '/finastra', handler, options }, { path: '/ietf', handler })
    const made = [await ask({ path: '/finastra', key: 'k1' }), await ask({ path: '/ietf', key: 'k2' })]
    expect(made.map(({ status, text }) => [status, text])).toEqual([
      [202, '{"id":1,"status":"pending"}'],
      [202, '{"id":2,"status":"pending"}'],
    ])
    orders.set(1, 'settled').set(2, 'settled')
    const again = [await ask({ path: '/finastra', key: 'k1' }), await ask({ path: '/ietf', key: 'k2' })]
    expect(again.map(({ status, text, replayed }) => [status, text, replayed])).toEqual([
      [201, '{"id":1,"status":"settled"}', true],
      [202, '{"id":2,"status":"pending"}', true],
    ])
    expect([runs(), orders.size]).toEqual([2, 2])
  })

  test('stripe: another request under the key is a 400 of its own type and words [S3-11]', async () => {
    const { ask, runs } = await site(adapter, inProfile('stripe'))
    await ask()
    const { status, text } = await ask(another)
    expect(status).toBe(400)
    const { error } = JSON.parse(text)
    expect(error.type).toBe('idempotency_error')
    expect(error.message).toMatch(
      /^Keys for idempotent requests can only be used with the same parameters they were first used with/,
    )
    expect(runs()).toBe(1)
  })

  test('stripe: a key in use is a 409 of its own code and words [S3-12]', async () => {
    const { ask, letGo, runs } = await busy(adapter, inProfile('stripe'))
    const { status, text } = await ask()
    expect(status).toBe(409)
    const { error } = JSON.parse(text)
    expect(error.code).toBe('idempotency_key_in_use')
    expect(error.message).toMatch(/^There is currently another in-progress request using this Idempotent Key/)
    expect((await letGo()).status).toBe(201)
    expect(runs()).toBe(1)
  })

  test('brandur takes 100 characters and refuses 101 with 400 [S3-25]', async () => {
    const { ask, rows, runs } = await site(adapter, inProfile('brandur'))
    expect((await ask({ key: 'k'.repeat(101) })).status).toBe(400)
    expect([rows(), runs()]).toEqual([[], 0])
    expect((await ask({ key: 'k'.repeat(100) })).status).toBe(201)
  })

  test('marketplace: a reused key is a 409 with these very words [S4-08 S4-09]', async () => {
    const { ask, runs } = await site(adapter, inProfile('marketplace'))
    await ask({ key: 'abc-123' })
    const got = await ask({ key: 'abc-123', ...another })
    expect([got.status, got.headers['content-type']]).toEqual([409, 'application/json'])
    expect(got.text).toBe(
      '{"error":{"code":"IDEMPOTENCY_KEY_REUSED","message":"This idempotency key was used with a different request body"}}',
    )
    expect(runs()).toBe(1)
  })

  test('marketplace: a key in progress is a 409 with these very words, and by default a 409 too [S4-10 S4-11]', async () => {
    const { ask, letGo, runs } = await busy(adapter, inProfile('marketplace'))
    const got = await ask()
    expect([got.status, got.headers['content-type']]).toEqual([409, 'application/json'])
    expect(got.text).toBe(
      '{"error":{"code":"IDEMPOTENCY_KEY_IN_PROGRESS","message":"A request with this key is still being processed"}}',
    )
    await letGo()
    expect(runs()).toBe(1)
    const ietf = await busy(adapter, {})
    const { status, text } = await ietf.ask()
    expect([status, JSON.parse(text).code]).toEqual([409, 'idempotency_key_in_progress'])
    await ietf.letGo()
  })

  test('marketplace: a static key works for one order and is an error for the next [S4-64]', async () => {
    const { ask, runs } = await site(adapter, inProfile('marketplace'))
    const orders = [await ask({ key: 'my-static-key' }), await ask({ key: 'my-static-key', ...another })]
    expect(orders.map(({ status }) => status)).toEqual([201, 409])
    const keys = ['7d1f1f3e-6f7b-4a55-b2a6-0c8f0f6b6a01', '7d1f1f3e-6f7b-4a55-b2a6-0c8f0f6b6a02']
    const own = [await ask({ key: keys[0] }), await ask({ key: keys[1], ...another })]
    expect(own.map(({ status }) => status)).toEqual([201, 201])
    expect(runs()).toBe(3)
  })

  test('marketplace: where the format is a UUID, 36 characters with dashes, anything else is a 400 [S4-04]', async () => {
    const options = { keyRules: { format: keyFormats.uuid } }
    const { ask, rows, runs } = await site(adapter, inProfile('marketplace', { options }))
    const wrong = [key.replaceAll('-', ''), key.slice(1), `${key}0`, `g${key.slice(1)}`, 'abc-123']
    for (const sent of wrong) expect([sent, (await ask({ key: sent })).status]).toEqual([sent, 400])
    expect([rows(), runs()]).toEqual([[], 0])
    expect(key).toHaveLength(36)
    expect((await ask()).status).toBe(201)
  })

  test('another request under a key is 400, 409 or 422, as the profile has decided [S2-139]', async () => {
    const decided: Record<Name, number> = {
      ietf: 422,
      stripe: 400,
      finastra: 422,
      marketplace: 409,
      brandur: 422,
      boundary: 422,
    }
    const names = Object.keys(decided) as Name[]
    const { ask, runs } = await site(adapter, ...names.map((name) => inProfile(name, { path: `/${name}` })))
    for (const name of names) {
      const asked = { path: `/${name}`, key: `the-key-of-${name}` }
      await ask(asked)
      expect([name, (await ask({ ...asked, ...another })).status]).toEqual([name, decided[name]])
    }
    expect(runs()).toBe(names.length)
  })

  test('a key in progress is a 409, or where the route says so a 202, with Retry-After either way [S2-020]', async () => {
    const codes = { reject: 409, accept: 202 } as const
    for (const concurrency of ['reject', 'accept'] as const) {
      const { ask, letGo, runs } = await busy(adapter, { options: { concurrency, statusAt: '/idempotency/key' } })
      const duplicate = await ask()
      expect(duplicate.status).toBe(codes[concurrency])
      expect(duplicate.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      expect([(await letGo()).status, (await ask()).replayed, runs()]).toEqual([201, true, 1])
    }
  })

  test('a retry meets the lock and comes back, or waits by the wish of the route: both get the first result [S3-65]', async () => {
    const locked = await busy(adapter, {})
    expect((await locked.ask()).status).toBe(409)
    const first = await locked.letGo()
    expect(await locked.ask()).toMatchObject({ status: 201, text: first.text, replayed: true })
    let arrived = 0
    const scope = () => {
      arrived++
      return 'acme'
    }
    const waiting = await busy(adapter, { scope, options: { concurrency: 'wait' } })
    let isAnswered = false
    const second = waiting.ask().finally(() => {
      isAnswered = true
    })
    await expect.poll(() => arrived, { timeout: 5_000 }).toBe(2)
    for (let turns = 0; turns < 50; turns++) await turn()
    expect(isAnswered).toBe(false)
    const own = await waiting.letGo()
    expect(await second).toMatchObject({ status: 201, text: own.text, replayed: true })
    expect([locked.runs(), waiting.runs()]).toEqual([1, 1])
  })
})
