import { keyFormats, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { api } from './support/http-api.js'
import { adapters, json, key } from './support/http-site.js'

/** Who may learn what of a key: its owner how it stands, and nobody else that it exists. */

describe.each(adapters)('on %s', (adapter) => {
  test('the key of another tenant is 404, in the same bytes as one that was never used; his own request runs anew [S1-063]', async () => {
    const { ask, status, runs } = await api(adapter, { routes: [{ handler: (runs) => json(201, { secret: runs }) }] })
    await ask({ headers: { 'x-tenant': 'acme' } })
    expect(JSON.parse((await status({ headers: { 'x-tenant': 'acme' } })).text)).toMatchObject({ state: 'completed' })
    const ofAnother = await status({ headers: { 'x-tenant': 'globex' } })
    const never = await status({ headers: { 'x-tenant': 'globex' }, key: 'never-used-by-anybody' })
    expect([ofAnother.status, never.status]).toEqual([404, 404])
    expect(ofAnother.text).toBe(never.text)
    expect(namesIn(ofAnother.headers)).toEqual(namesIn(never.headers))
    expect(ofAnother.text).not.toContain(key)
    const theirs = await ask({ headers: { 'x-tenant': 'globex' } })
    expect(theirs).toMatchObject({ status: 201, text: '{"secret":2}', replayed: false })
    expect((await status({ headers: { 'x-tenant': 'globex' } })).status).toBe(200)
    expect((await ask({ headers: { 'x-tenant': 'acme' } })).text).toBe('{"secret":1}')
    expect(runs()).toBe(2)
  })

  test('a key of another tenant that still runs is 404 too, and his own request is not held up by it [S1-063]', async () => {
    const [begun, go] = [gate(), gate()]
    const { ask, status } = await api(adapter, {
      routes: [
        {
          async handler(runs) {
            begun.open()
            if (runs === 1) await go.opened
            return json(201, { id: runs })
          },
        },
      ],
    })
    const first = ask()
    await begun.opened
    expect(JSON.parse((await status()).text)).toMatchObject({ state: 'in_progress' })
    expect((await status({ headers: { 'x-tenant': 'globex' } })).status).toBe(404)
    expect((await ask({ headers: { 'x-tenant': 'globex' } })).status).toBe(201)
    go.open()
    expect((await first).status).toBe(201)
  })

  test('who asks for keys again and again gets 429 and is told when to come back, and others may ask [S1-080 X-09]', async () => {
    const { ask, asked, status } = await api(adapter, { statusLimit: { most: 10, per: '1m' } })
    await ask({ headers: { 'x-tenant': 'globex' } })
    // One who guesses is refused before the store is asked, so that he learns nothing from how long it takes.
    for (let guess = 0; guess < 10; guess++) expect((await status({ key: `guess-${guess}` })).status).toBe(404)
    const lookups = asked.get('find')
    for (let guess = 10; guess < 15; guess++) {
      const refused = await status({ key: `guess-${guess}` })
      expect(refused.status).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1)
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
    }
    expect(asked.get('find')).toBe(lookups)
    expect((await status({ headers: { 'x-tenant': 'globex' } })).status).toBe(200)
  })

  test('unless an owner says otherwise, a caller may ask sixty times a minute [S1-080]', async () => {
    const { status } = await api(adapter)
    const statuses: number[] = []
    for (let time = 0; time < 61; time++) statuses.push((await status()).status)
    expect(statuses).toEqual([...Array(60).fill(404), 429])
  })

  test('a key that was guessed is of no use to another person of the same tenant, on the route or on its status [X-09]', async () => {
    const scope = (header: (name: string) => string | undefined) => ({
      tenant: 'acme',
      principal: header('x-user') ?? 'nobody',
    })
    const { ask, status, runs } = await api(adapter, { routes: [{ scope }] })
    const [ann, bob] = [{ 'x-user': 'ann' }, { 'x-user': 'bob' }]
    await ask({ key: 'order-17', headers: ann })
    expect((await status({ key: 'order-17', headers: ann })).status).toBe(200)
    expect((await status({ key: 'order-17', headers: bob })).status).toBe(404)
    expect(await ask({ key: 'order-17', headers: bob })).toMatchObject({ text: '{"id":2}', replayed: false })
    expect(runs()).toBe(2)
  })

  test('where a route asks for keys that cannot be guessed, others are refused, on its status too [X-09]', async () => {
    const profile = { ...profiles.ietf, key: { ...profiles.ietf.key, format: keyFormats.uuid, minLength: 36 } }
    const { ask, status, runs, rows } = await api(adapter, { routes: [{ options: { profile } }] })
    for (const guessed of ['1', 'test', 'order-17', '2026-01-01T12:00:00Z', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']) {
      expect((await ask({ key: guessed })).status).toBe(400)
      expect((await status({ key: guessed })).status).toBe(400)
    }
    expect([runs(), rows()]).toEqual([0, []])
    expect((await ask({ key: crypto.randomUUID() })).status).toBe(201)
  })

  test('a key that looks like a person is told to the owner of the API, without the key itself [S2-065]', async () => {
    const { ask, heard } = await api(adapter)
    const personal = ['ann@example.com', '+49 170 1234567', '4111 1111 1111 1111', '078-05-1120']
    for (const text of personal) expect((await ask({ key: `"${text}"` })).status).toBe(201)
    for (const text of [key, 'order-17', '1700000000000']) await ask({ key: text })
    const told = heard.filter(({ name }) => name === 'key_looks_personal').map(({ event }) => event)
    const shapes = ['email', 'phone', 'card', 'social_security_number']
    expect(told).toMatchObject(shapes.map((shape) => ({ scope: 'acme', operation: 'operation-0', shape })))
    for (const text of personal) expect(JSON.stringify(heard)).not.toContain(text)
  })
})

function namesIn(headers: object): string[] {
  return Object.keys(headers).sort()
}
