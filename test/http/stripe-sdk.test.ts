import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { rejection } from '../support/waiting.js'
import { type ChargeServer, startChargeServer } from './stripe-sdk/server.js'

/** The client library of Stripe as it is published, against a server of ours in Stripe's profile. */

const tea = { amount: 450, currency: 'eur' } as const
const key = 'order-17-tea'

function client({ port }: ChargeServer, maxNetworkRetries = 3): Stripe {
  return new Stripe('sk_test_acme', { host: '127.0.0.1', port, protocol: 'http', maxNetworkRetries, telemetry: false })
}

function replayMark({ lastResponse }: { lastResponse: { headers: Record<string, string> } }): string | undefined {
  return lastResponse.headers['idempotent-replayed']
}

describe('an answer that was lost', { timeout: 20_000 }, () => {
  test('is asked for again by the library itself, under the key that it made: one charge, and its replay', async () => {
    const server = await startChargeServer({ losing: 2 })
    const charge = await client(server).charges.create(tea)
    expect(charge).toMatchObject({ id: 'ch_1', amount: 450 })
    expect(replayMark(charge)).toBe('true')
    await server.heard('asked', 3)
    expect(server.count('asked')).toBe(3)
    expect(server.count('begun')).toBe(1)
    expect(server.charges()).toEqual([450])
  })

  test('is there for whoever comes back with the same key later', async () => {
    const server = await startChargeServer()
    const first = await client(server).charges.create(tea, { idempotencyKey: key })
    expect(replayMark(first)).toBeUndefined()
    const again = await client(server).charges.create(tea, { idempotencyKey: key })
    expect(replayMark(again)).toBe('true')
    expect({ ...again }).toEqual({ ...first })
    expect(server.charges()).toEqual([450])
  })
})

describe('the library tells its caller', { timeout: 20_000 }, () => {
  test('of a key that came with other parameters, as a StripeIdempotencyError, at once', async () => {
    const server = await startChargeServer()
    await client(server).charges.create(tea, { idempotencyKey: key })
    const error = await rejection(client(server).charges.create({ ...tea, amount: 9000 }, { idempotencyKey: key }))
    expect(error).toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
    expect(error).toMatchObject({ statusCode: 400, message: expect.stringContaining('only be used with the same') })
    await server.heard('asked', 2)
    expect(server.count('asked')).toBe(2)
    expect(server.charges()).toEqual([450])
  })

  test('nothing of a key in progress: it comes back until the answer is there', async () => {
    const server = await startChargeServer()
    const held = { ...tea, description: 'held' }
    const first = client(server).charges.create(held, { idempotencyKey: key })
    await server.heard('begun')
    const second = client(server).charges.create(held, { idempotencyKey: key })
    await server.heard('refused', 2)
    server.go()
    const [one, two] = await Promise.all([first, second])
    expect([replayMark(one), replayMark(two)]).toEqual([undefined, 'true'])
    expect({ ...two }).toEqual({ ...one })
    expect(server.charges()).toEqual([450])
  })

  test('of a key in progress when it may not come back', async () => {
    const server = await startChargeServer()
    const held = { ...tea, description: 'held' }
    const first = client(server).charges.create(held, { idempotencyKey: key })
    await server.heard('begun')
    const error = await rejection(client(server, 0).charges.create(held, { idempotencyKey: key }))
    expect(error).toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' })
    server.go()
    await first
  })

  test('of a 500 that is the answer, after it has learnt that to ask again changes nothing', async () => {
    const server = await startChargeServer()
    const error = await rejection(client(server).charges.create({ ...tea, description: 'fails' }))
    expect(error).toBeInstanceOf(Stripe.errors.StripeAPIError)
    expect(error).toMatchObject({ statusCode: 500, message: 'It went wrong, and that is the answer.' })
    await server.heard('asked', 2)
    expect([server.count('asked'), server.count('begun')]).toEqual([2, 1])
    expect(server.charges()).toEqual([450])
  })

  test('nothing of a handler that was interrupted: it comes back, and the charge is made once', async () => {
    const server = await startChargeServer()
    const charge = await client(server).charges.create({ ...tea, description: 'breaks once' })
    expect(charge).toMatchObject({ id: 'ch_1' })
    await server.heard('begun', 2)
    expect(server.count('begun')).toBe(2)
    expect(server.charges()).toEqual([450])
  })
})
