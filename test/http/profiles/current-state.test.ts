import { describe, expect, test } from 'vitest'
import { engine } from '../../../src/engine/engine.js'
import type { Reply } from '../../../src/http/exchange.js'
import { profiles as sourceProfiles } from '../../../src/http/profiles/profiles.js'
import { type RouteOptions, routeOf } from '../../../src/http/route.js'
import { memoryStore } from '../../../src/stores/memory.js'
import { api, json } from './api.js'

describe('a replay under finastra', () => {
  const stored = json(202, { id: 7, status: 'pending' })
  const replay = (currentState: RouteOptions<string>['currentState'], answer: Reply = stored) => {
    const hapax = engine({ store: memoryStore() })
    const options = { name: 'orders.create', scope: () => 'acme', profile: sourceProfiles.finastra }
    return routeOf(hapax, { ...options, ...(currentState && { currentState }) }).replay(answer, 'the request')
  }

  test('is 201 with the state that the resource has by now, found by the stored reply and the request', async () => {
    const seen: unknown[] = []
    const { status, headers, body } = await replay((...given) => {
      seen.push(...given)
      return { id: 7, status: 'settled' }
    })
    expect(seen).toEqual([stored, 'the request'])
    expect(status).toBe(201)
    expect(headers).toEqual([['content-type', 'application/json']])
    expect(Buffer.from(body).toString()).toBe('{"id":7,"status":"settled"}')
  })

  test('comes through the door: created, settled by others, then told as it is now', async () => {
    let status = 'pending'
    const currentState = (first: Reply) => ({ ...JSON.parse(Buffer.from(first.body).toString()), status })
    const { post, runs } = await api('finastra', { currentState }, (runs) => json(202, { id: runs, status }))
    expect(await post()).toMatchObject({ status: 202, text: '{"id":1,"status":"pending"}' })
    status = 'settled'
    const again = await post()
    expect(again).toMatchObject({ status: 201, text: '{"id":1,"status":"settled"}' })
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(again.headers.get('Content-Type')).toBe('application/json')
    expect(runs()).toBe(1)
  })

  test('keeps where the resource is, and drops what was said of the old body', async () => {
    const headers = [
      ['Content-Type', 'text/plain'],
      ['ETag', '"1"'],
      ['Location', '/orders/7'],
    ] as const
    const reply = await replay(async () => ({ id: 7 }), { ...stored, headers })
    expect(reply.headers).toEqual([
      ['content-type', 'application/json'],
      ['Location', '/orders/7'],
    ])
  })

  test('of a failure is the stored failure, and nobody is asked', async () => {
    const asked = () => expect.unreachable('a failure made no resource')
    for (const status of [400, 402, 500]) expect(await replay(asked, json(status, {}))).toEqual(json(status, {}))
  })

  test('without anything newer is the stored reply, with 201 all the same', async () => {
    expect(await replay(() => undefined)).toEqual({ ...stored, status: 201 })
  })
})
