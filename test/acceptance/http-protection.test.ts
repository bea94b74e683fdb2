import { limits } from 'hapax'
import { describe, expect, test } from 'vitest'
import { withoutRecords } from './support/database.js'
import { api } from './support/http-api.js'
import { adapters, json } from './support/http-site.js'

/** Who takes too much is turned away, a store in trouble is left alone, and a retry of a known key is served all the same. */

const waitingTime = expect.stringMatching(/^[1-9][0-9]*$/)

describe.each(adapters)('on %s', (adapter) => {
  test('a tenant that uses new keys too fast gets 429 and is told when to come back; its replays and others are served [S1-089]', async () => {
    const { ask, rows, runs, heard } = await api(adapter, { engine: { quotas: { newKeys: { most: 3, per: '1h' } } } })
    for (const key of ['k-1', 'k-2', 'k-3']) expect((await ask({ key })).status).toBe(201)
    for (const key of ['k-4', 'k-5']) {
      const turnedAway = await ask({ key })
      expect(turnedAway).toMatchObject({ status: 429, headers: { 'retry-after': waitingTime } })
      expect(JSON.parse(turnedAway.text)).toMatchObject({ code: 'quota_exceeded' })
    }
    expect([runs(), rows().length]).toEqual([3, 3])
    for (const key of ['k-1', 'k-2', 'k-3', 'k-1'])
      expect(await ask({ key })).toMatchObject({ status: 201, replayed: true })
    expect((await ask({ key: 'k-4', headers: { 'x-tenant': 'globex' } })).status).toBe(201)
    expect(heard.filter(({ name }) => name === 'turned_away').map(({ event }) => event)).toMatchObject([
      { scope: 'acme', errorCode: 'quota_exceeded' },
      { scope: 'acme', errorCode: 'quota_exceeded' },
    ])
  })

  test('a tenant that holds as many keys as it may gets 429 until one expires; other tenants are not concerned [S1-091]', async () => {
    const { ask, rows, runs, setTime, pass } = await api(adapter, { engine: { quotas: { activeKeys: 2 } } })
    const noon = Date.UTC(2026, 0, 1, 12)
    await setTime(noon)
    await ask({ key: 'k-1' })
    await setTime(noon + 3_600_000)
    await ask({ key: 'k-2' })
    const turnedAway = await ask({ key: 'k-3' })
    expect(turnedAway).toMatchObject({ status: 429, headers: { 'retry-after': waitingTime } })
    expect(turnedAway.headers['content-type']).toMatch('application/problem+json')
    expect(JSON.parse(turnedAway.text)).toMatchObject({ status: 429, code: 'quota_exceeded' })
    expect([runs(), rows().length]).toEqual([2, 2])
    expect(await ask({ key: 'k-2' })).toMatchObject({ status: 201, replayed: true })
    for (const key of ['k-1', 'k-3']) expect((await ask({ key, headers: { 'x-tenant': 'globex' } })).status).toBe(201)
    await setTime(noon + 24 * 3_600_000)
    pass(60_000)
    expect(await ask({ key: 'k-3' })).toMatchObject({ status: 201, replayed: false })
  })

  test('what nobody has let in, or what no handler could read, takes up no room in the store [X-14]', async () => {
    const { ask, rows, runs } = await api(adapter, { admits: (header) => header('authorization') === 'token-1' })
    for (let time = 0; time < 20; time++) expect((await ask({ key: `sprayed-${time}` })).status).toBe(403)
    const known = { authorization: 'token-1' }
    expect((await ask({ key: 'k'.repeat(256), headers: known })).status).toBe(400)
    expect((await ask({ key: 'packed', headers: { ...known, 'content-encoding': 'gzip' } })).status).toBe(400)
    expect([rows(), runs()]).toEqual([[], 0])
    expect((await ask({ headers: known })).status).toBe(201)
  })

  test('a tenant whose answers take all of its bytes is let in with no new key, and its retries are served [X-14]', async () => {
    const { ask, rows, runs } = await api(adapter, {
      engine: { quotas: { storedBytes: 2_000 } },
      routes: [{ handler: () => json(201, { note: 'x'.repeat(1_500) }) }],
    })
    for (const key of ['k-1', 'k-2']) expect((await ask({ key })).status).toBe(201)
    expect(await ask({ key: 'k-3' })).toMatchObject({ status: 429, headers: { 'retry-after': waitingTime } })
    expect([runs(), rows().length]).toEqual([2, 2])
    expect(await ask({ key: 'k-2' })).toMatchObject({ status: 201, replayed: true })
    expect((await ask({ key: 'k-3', headers: { 'x-tenant': 'globex' } })).status).toBe(201)
  })

  test('a key that is used to poll gets 429 and the advice to read the resource, and nothing runs [S0-24 S1-080]', async () => {
    const { ask, runs, row } = await api(adapter, { engine: { replays: { most: 5, per: '1m' } } })
    const first = await ask({ key: 'polled' })
    for (let time = 0; time < 5; time++)
      expect(await ask({ key: 'polled' })).toMatchObject({ status: 201, text: first.text, replayed: true })
    for (let time = 0; time < 2; time++) {
      const refused = await ask({ key: 'polled' })
      expect(refused).toMatchObject({ status: 429, replayed: false, headers: { 'retry-after': waitingTime } })
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'rate_exceeded' })
      expect(refused.text).toMatch(/look at the resource itself/)
    }
    expect((await ask({ key: 'another' })).status).toBe(201)
    expect([runs(), row('polled').status]).toEqual([2, 'completed'])
    // The resource itself may be read as often as anybody likes.
    for (let time = 0; time < 10; time++) expect((await ask({ method: 'GET', key: 'polled' })).status).toBe(201)
  })

  test('after failures in a row 503 comes at once and the store is not asked; GETs go on, and one try closes the circuit [S1-074]', async () => {
    const { ask, asked, heard, path, pass, runs } = await api(adapter)
    await ask({ key: 'before' })
    const bringBack = withoutRecords(path)
    for (let failure = 0; failure < limits.failuresInARow; failure++)
      expect((await ask({ key: 'during' })).status).toBe(503)
    expect(heard.map(({ name }) => name)).toContain('circuit_opened')
    const calls = asked.get('reserve')
    for (let time = 0; time < 3; time++)
      expect(await ask({ key: 'during' })).toMatchObject({ status: 503, headers: { 'retry-after': waitingTime } })
    expect(asked.get('reserve')).toBe(calls)
    expect(runs()).toBe(1)
    expect((await ask({ method: 'GET' })).status).toBe(201)

    // Half-open while it is still down: one request tries, and the next are refused at once again.
    pass(3_600_000)
    expect((await ask({ key: 'during' })).status).toBe(503)
    const tried = asked.get('reserve') ?? 0
    expect(tried).toBeGreaterThan(calls ?? 0)
    expect((await ask({ key: 'during' })).status).toBe(503)
    expect(asked.get('reserve')).toBe(tried)

    bringBack()
    pass(3_600_000)
    expect(await ask({ key: 'during' })).toMatchObject({ status: 201, replayed: false })
    expect(heard.map(({ name }) => name)).toContain('circuit_closed')
    for (const key of ['before', 'during']) expect(await ask({ key })).toMatchObject({ status: 201, replayed: true })
    expect(runs()).toBe(3)
  })
})
