import { profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { deadAddress, type Gateway, startGateway } from './support/gateway.js'
import { adapters, json, key, site } from './support/http-site.js'

/** The boundary around an uncertain call, over a real port and with a real gateway behind it. */

const profile = profiles.boundary

describe('a call to a gateway that fails', () => {
  /** What the document calls `isDefinitelyNotExecuted`: true only where no byte can have left. */
  const isDefinitelyNotExecuted = (failure: unknown) =>
    failure instanceof Error && (failure.cause as { code?: unknown } | undefined)?.code === 'ECONNREFUSED'
  const onError = (failure: unknown) => (isDefinitelyNotExecuted(failure) ? 'retry' : 'unknown')
  const charge = async (url: string, signal?: AbortSignal) => {
    await fetch(url, { method: 'POST', ...(signal && { signal }) })
    return json(201, { status: 'created' })
  }
  /** The line breaks when the gateway has charged, before it has answered. */
  const chargeAndLose = (gateway: Gateway) => {
    const line = new AbortController()
    void gateway.charged().then(() => line.abort())
    return charge(gateway.url, line.signal)
  }

  test.each(adapters)(
    'on %s leaves doubt unless somebody says otherwise, however it failed [S2-038]',
    async (adapter) => {
      const gateway = await startGateway()
      const dead = await deadAddress()
      const failures = [
        () => chargeAndLose(gateway),
        () => charge(dead),
        () => json(502, {}),
        () => Promise.reject('a string'),
      ]
      const routes = failures.map((handler, index) => ({ path: `/${index}`, options: { profile }, handler }))
      const { ask, row, runs } = await site(adapter, ...routes)
      for (const { path } of routes) {
        const asked = { path, key: `${key}${path}` }
        for (let time = 0; time < 2; time++)
          expect(await ask(asked)).toMatchObject({ status: 503, text: '{"code":"outcome_unknown"}' })
        expect(row(asked.key).status).toBe('unknown')
      }
      expect(runs()).toBe(failures.length)
    },
  )

  test.each(adapters)(
    'on %s may run again when nothing can have left, and never after a byte did [S2-039]',
    async (adapter) => {
      const gateway = await startGateway()
      const dead = await deadAddress()
      const handler = (runs: number) => (runs === 1 ? charge(dead) : chargeAndLose(gateway))
      const { ask, row, runs } = await site(adapter, { handler, options: { profile, onError } })
      expect((await ask()).status).toBe(500)
      expect([row(key).status, gateway.charges()]).toEqual(['failed_retryable', 0])
      expect((await ask()).status).toBe(503)
      expect([row(key).status, gateway.charges()]).toEqual(['unknown', 1])
      gateway.answer()
      expect((await ask()).status).toBe(503)
      expect([runs(), gateway.charges()]).toEqual([2, 1])
    },
  )

  test.each(adapters)(
    'on %s is a 5xx for the client, and the reservation is kept unless nothing ran [S2-045]',
    async (adapter) => {
      const gateway = await startGateway()
      const { ask, row, runs } = await site(adapter, {
        handler: () => chargeAndLose(gateway),
        options: { profile, onError },
      })
      const got = await ask()
      expect(got.status).toBeGreaterThanOrEqual(500)
      expect(got.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      expect(row(key)).toMatchObject({ status: 'unknown', response_status_code: null })
      expect([runs(), gateway.charges()]).toEqual([1, 1])
    },
  )
})
