import { keyFormats, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { engine } from '../../../src/engine/engine.js'
import { profiles as sourceProfiles } from '../../../src/http/profiles/profiles.js'
import { type RouteOptions, routeOf } from '../../../src/http/route.js'
import { memoryStore } from '../../../src/stores/memory.js'
import { api, hour, json, key } from './api.js'

describe('a route', () => {
  test('that says otherwise is heard before its profile', async () => {
    const { post, runs, clock, record } = await api('stripe', { retention: '7d', lease: '10s', onError: 'retry' }, () =>
      json(500, {}),
    )
    await post()
    expect(await record(key)).toMatchObject({ retentionMs: 7 * 24 * hour })
    await clock.advance(1)
    await post()
    expect(runs()).toBe(2)
  })

  test('that says undefined has said nothing', async () => {
    const nothing = { retention: undefined, onError: undefined } as object
    const { post, record } = await api('boundary', { ...nothing, keyRules: { minLength: undefined } as object })
    expect((await post({ 'Idempotency-Key': 'k'.repeat(15) })).status).toBe(400)
    await post()
    expect(await record(key)).toMatchObject({ retentionMs: 48 * hour })
  })

  test('of marketplace may demand a UUID', async () => {
    const { post, runs } = await api('marketplace', { keyRules: { format: keyFormats.uuid } })
    expect((await post({ 'Idempotency-Key': 'abc-123' })).status).toBe(400)
    expect((await post()).status).toBe(201)
    expect(runs()).toBe(1)
  })

  test('changes no profile for others', async () => {
    const before = JSON.stringify(profiles)
    await api('finastra', { keyRules: { maxLength: 10 }, retention: '7d' })
    expect(JSON.stringify(profiles)).toBe(before)
  })

  test.each([
    ['replays the current state and cannot look it up', { profile: sourceProfiles.finastra }],
    ['can look up a state that its profile never replays', { currentState: () => ({}) }],
  ] satisfies [string, Partial<RouteOptions<string>>][])('that %s refuses to start', (_, options) => {
    const hapax = engine({ store: memoryStore() })
    const route = () => routeOf(hapax, { name: 'orders.create', scope: () => 'acme', ...options })
    expect(route).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })
})
