import { describe, expect, test } from 'vitest'
import { api } from './support/http-api.js'
import { adapters, json } from './support/http-site.js'

/** Rights that were taken away between a request and its retry. A stored answer is nobody's right. */

describe.each(adapters)('on %s', (adapter) => {
  const secret = [{ handler: () => json(201, { iban: 'DE00 secret' }) }]

  test('a caller whose access was revoked is refused by the application before any replay [X-05]', async () => {
    const tokens = new Set(['token-1'])
    const { ask, status, asked, runs } = await api(adapter, {
      admits: (header) => tokens.has(header('authorization') ?? ''),
      routes: secret,
    })
    const known = { headers: { authorization: 'token-1' } }
    expect((await ask(known)).status).toBe(201)
    expect(await ask(known)).toMatchObject({ status: 201, replayed: true })
    tokens.clear()
    const before = asked.get('reserve')
    const refused = await ask(known)
    expect([refused.status, refused.text, refused.replayed]).toEqual([403, 'forbidden', false])
    expect((await status(known)).status).toBe(403)
    expect([asked.get('reserve'), runs()]).toEqual([before, 1])
  })

  test('a caller who may act but not see this answer any more gets 403, nothing runs, and the answer stays [X-05]', async () => {
    let mayRead = true
    const seen: number[] = []
    const { ask, heard, row, runs } = await api(adapter, {
      routes: [
        {
          ...secret[0],
          options: {
            async authorizeReplay(_request, stored) {
              seen.push(stored.status)
              return mayRead
            },
          },
        },
      ],
    })
    const first = await ask({ key: 'k' })
    expect(seen).toEqual([])
    expect(await ask({ key: 'k' })).toMatchObject({ text: first.text, replayed: true })
    mayRead = false
    for (let time = 0; time < 2; time++) {
      const refused = await ask({ key: 'k' })
      expect(refused).toMatchObject({ status: 403, replayed: false })
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'replay_forbidden' })
      expect(refused.text + JSON.stringify(refused.headers)).not.toContain('secret')
    }
    expect(seen).toEqual([201, 201, 201])
    expect(heard.filter(({ name }) => name === 'replay_refused')).toHaveLength(2)
    expect([row('k').status, runs()]).toEqual(['completed', 1])
    mayRead = true
    expect(await ask({ key: 'k' })).toMatchObject({ text: first.text, replayed: true })
  })

  test('a right that cannot be looked up is none: the answer is not given, and nothing runs [X-05]', async () => {
    const { ask, runs } = await api(adapter, {
      routes: [
        { ...secret[0], options: { authorizeReplay: () => Promise.reject(new Error('the directory is down')) } },
      ],
    })
    await ask()
    const refused = await ask()
    expect(refused.status).toBeGreaterThanOrEqual(500)
    expect(refused.text).not.toMatch(/secret|directory/)
    expect(runs()).toBe(1)
  })

  test('bound to a person and to a credential, a key gives its answer to no other of them, by whatever rights [X-05]', async () => {
    const scope = (header: (name: string) => string | undefined) => ({
      tenant: 'acme',
      principal: header('x-user') ?? 'nobody',
      credential: header('x-credential') ?? 'none',
    })
    const { ask, runs } = await api(adapter, { routes: [{ scope }] })
    const callers = [
      { 'x-user': 'ann', 'x-credential': 'crd_1' },
      { 'x-user': 'ann', 'x-credential': 'crd_2' },
      { 'x-user': 'bob', 'x-credential': 'crd_1' },
    ]
    for (const [index, headers] of callers.entries())
      expect(await ask({ headers })).toMatchObject({ text: `{"id":${index + 1}}`, replayed: false })
    for (const headers of callers) expect((await ask({ headers })).replayed).toBe(true)
    expect(runs()).toBe(3)
  })
})
