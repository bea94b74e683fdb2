import { Validator } from '@seriousme/openapi-schema-validator'
import { engine } from 'hapax'
import { type AdminApiOptions, adminApi, everything, type Operator } from 'hapax/admin'
import { memoryStore } from 'hapax/memory'
import { describe, expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../support/manual-clock.js'
import { gate } from '../support/waiting.js'

/** Who may do what, and how a write is kept from harm. */

const ann = { who: 'ann', may: everything } as const

async function site(options: Omit<AdminApiOptions<never>, 'hapax'> = { authorize: () => ann }) {
  const clock = manualClock()
  const hapax = engine({ store: memoryStore({ clock }), log: () => {}, clock })
  const api = adminApi({ hapax, ...options })
  onTestFinished(() => {
    api.close()
    return hapax.close()
  })
  const policy = hapax.policy({ name: 'payments.create' })
  const answered = (scope: string, key: string) => hapax.run({ scope, key, policy }, async () => 'paid')
  const doubtful = (scope: string, key: string) =>
    hapax.run({ scope, key, policy }, async (work) => work.doubt('provider_silent')).catch(() => {})
  const ask = async (path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await api(
      new Request(`http://admin${path}`, {
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
        headers: {
          ...(body && { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }),
          ...headers,
        },
      }),
    )
    return {
      status: response.status,
      headers: response.headers,
      json: (await response.json()) as Record<string, unknown>,
    }
  }
  return { hapax, api, ask, answered, doubtful, clock }
}

describe('who is let in', () => {
  test('nobody, where nobody says who may', async () => {
    const { ask } = await site({})
    expect(await ask('/records')).toMatchObject({ status: 403, json: { code: 'closed' } })
    expect(await ask('/openapi.json')).toMatchObject({ status: 403 })
  })

  test('not a stranger', async () => {
    const { ask } = await site({ authorize: () => undefined })
    expect(await ask('/records')).toMatchObject({ status: 401, json: { code: 'unauthorized' } })
  })

  test('each in his own tenants, for what he may do there, and nothing is changed otherwise', async () => {
    const may = { read: ['acme'], purge: ['acme'] }
    const { ask, answered, hapax } = await site({ authorize: () => ({ who: 'ann', may }) })
    await answered('acme', 'k')
    await answered('globex', 'k')
    expect(await ask('/records')).toMatchObject({ status: 403 })
    expect(await ask('/records?tenant=globex')).toMatchObject({ status: 403 })
    expect((await ask('/records?tenant=acme')).json.items).toMatchObject([{ scope: 'acme' }])
    const purge = (scope: string) => ask('/records/purge', { scope, key: 'k', reason: 'a test' })
    expect(await purge('globex')).toMatchObject({ status: 403, json: { code: 'forbidden' } })
    expect(await purge('globex;principal=x')).toMatchObject({ status: 403 })
    expect(await purge('acme')).toMatchObject({ status: 200 })
    expect((await hapax.operating.list({ limit: 9, state: 'completed', tenant: 'globex' })).records).toHaveLength(1)
    expect(await ask('/audit')).toMatchObject({ status: 403 })
  })
})

test('records are found by three plain words, of which an expired one is none', async () => {
  const { hapax, ask, answered, doubtful } = await site()
  const policy = hapax.policy({ name: 'payments.create' })
  for (const key of ['done', 'purged']) await answered('acme', key)
  for (const key of ['doubt-1', 'doubt-2']) await doubtful('acme', key)
  await hapax.run({ scope: 'acme', key: 'failed', policy }, () => Promise.reject(new Error('no'))).catch(() => {})
  const running = gate<string>()
  const runs = hapax.run({ scope: 'acme', key: 'runs', policy }, () => running.opened)
  expect(await ask('/records/purge', { scope: 'acme', key: 'purged', reason: 'a test' })).toMatchObject({ status: 200 })

  type Item = { readonly key: string; readonly state: string; readonly plain_state?: string }
  /** All pages, one record on each. */
  async function found(query: string): Promise<readonly Item[]> {
    const items: Item[] = []
    let after = ''
    for (let page = 0; page < 20; page++) {
      const { json } = await ask(`/records?tenant=acme&limit=1&${query}${after}`)
      items.push(...(json.items as readonly Item[]))
      if (json.next === undefined) return items
      after = `&after=${json.next}`
    }
    throw new Error('the pages have no end')
  }
  const keys = async (query: string) => (await found(query)).map(({ key }) => key)
  expect(await keys('plain_state=processing')).toEqual(['runs', 'doubt-2', 'doubt-1'])
  expect(await keys('plain_state=processing&order=oldest&key_prefix=doubt')).toEqual(['doubt-1', 'doubt-2'])
  expect(await keys('plain_state=completed')).toEqual(['done'])
  expect(await keys('plain_state=failed')).toEqual(['failed'])
  for (const plain of ['processing', 'completed', 'failed'])
    for (const item of await found(`plain_state=${plain}`)) expect(item.plain_state).toBe(plain)
  const [expired] = await found('state=expired')
  expect(expired).toMatchObject({ key: 'purged', state: 'expired' })
  expect(expired).not.toHaveProperty('plain_state')
  for (const query of ['plain_state=expired', 'plain_state=failed&state=unknown', 'plain_state=failed&after=12'])
    expect((await ask(`/records?tenant=acme&${query}`)).status, query).toBe(400)
  running.open('paid')
  await runs
})

test('nobody sees another tenant by a filter, a cursor, a count or a story', async () => {
  const { ask, answered, doubtful } = await site({
    authorize: () => ({ who: 'ann', may: { read: ['acme'], audit: ['acme'], reconcile: ['acme'] } }),
  })
  for (const scope of ['acme', 'globex']) for (const key of ['a-1', 'a-2', 'a-3']) await answered(scope, key)
  await doubtful('acme', 'd')
  await doubtful('globex', 'd')
  const items = async (query: string) => (await ask(`/records?${query}`)).json
  expect(await items('tenant=acme&scope=globex')).toEqual({ items: [] })
  expect(await items('tenant=acme&scope=globex&key=a-1')).toEqual({ items: [] })
  const page = await items('tenant=acme&key_prefix=a-&limit=2')
  expect(page.items).toMatchObject([{ scope: 'acme' }, { scope: 'acme' }])
  expect(Buffer.from(String(page.next), 'base64url').toString()).not.toContain('a-')
  expect((await items(`tenant=acme&key_prefix=a-&limit=2&after=${page.next}`)).items).toMatchObject([{ scope: 'acme' }])
  for (const query of ['', 'key=a-1', 'key_prefix=a', 'scope=globex', 'state=unknown', 'tenant=globex', 'tenant='])
    expect((await ask(`/records?${query}`)).status, query).toBeGreaterThanOrEqual(400)
  const other = [
    '/records/story?scope=globex&key=a-1',
    '/tenants',
    '/tenants?tenant=globex',
    '/effects?tenant=globex',
    '/stats',
  ]
  for (const path of [...other, '/dead-letters?tenant=globex', '/audit', '/audit?scope=globex&key=d', '/audit/verify'])
    expect(await ask(path), path).toMatchObject({ status: 403, json: { code: 'forbidden' } })
  expect(await ask('/reconcile', { reason: 'a test' })).toMatchObject({ status: 403 })
  const looked = await ask('/records/reconcile', { scope: 'acme', key: 'd', reason: 'a test' })
  expect(Object.values(looked.json.came as object)).toEqual([1])
})

test('a right that is a text, and no list of tenants, is none', async () => {
  const may = { read: 'acme' } as unknown as Operator['may']
  const { ask } = await site({ authorize: () => ({ who: 'ann', may }) })
  for (const tenant of ['acme', 'ac']) expect((await ask(`/records?tenant=${tenant}`)).status).toBe(403)
})

test('a permission in no tenant is none, and who has lost one is not told what came of it before', async () => {
  let may: Record<string, readonly string[]> = { read: ['acme'], purge: ['acme'] }
  const { ask, answered } = await site({ authorize: () => ({ who: 'ann', may }) })
  await answered('acme', 'k')
  const purge = () =>
    ask('/records/purge', { scope: 'acme', key: 'k', reason: 'a test' }, { 'idempotency-key': 'once' })
  expect((await purge()).status).toBe(200)
  may = { read: [], purge: [] }
  expect(await purge()).toMatchObject({ status: 403, json: { code: 'forbidden' } })
  for (const path of ['/records?tenant=acme', '/routes', '/workers', '/health', '/events'])
    expect((await ask(path)).status, path).toBe(403)
})

test('who has lost a right in one tenant is not told what came of it there, though he has it in another', async () => {
  let may: Operator['may'] = everything
  const { ask, answered, doubtful } = await site({ authorize: () => ({ who: 'ann', may }) })
  await answered('acme', 'k')
  await doubtful('acme', 'd')
  await doubtful('acme', 'e')
  const reason = 'a test'
  const answer = { status: 201, body: 'paid' }
  const writes = {
    '/records/purge': { scope: 'acme', key: 'k', reason },
    '/records/settle': { scope: 'acme', key: 'd', says: 'completed', evidence: 'seen', answer, reason },
    '/records/reconcile': { scope: 'acme', key: 'e', reason },
    '/reconcile': { reason },
  }
  const send = (path: string) => ask(path, writes[path as keyof typeof writes], { 'idempotency-key': path })
  const came = new Map<string, object>()
  for (const path of Object.keys(writes)) {
    const first = await send(path)
    expect(first.status, path).toBe(200)
    came.set(path, first.json)
  }
  may = { purge: ['globex'], settle: ['globex'], reconcile: ['globex'] }
  for (const path of Object.keys(writes))
    expect(await send(path), path).toMatchObject({ status: 403, json: { code: 'replay_forbidden' } })
  may = { purge: ['acme'], settle: ['acme'], reconcile: ['acme'] }
  for (const [path, json] of came)
    if (path === '/reconcile') expect((await send(path)).status).toBe(403)
    else expect((await send(path)).json, path).toEqual(json)
})

test('a body is read up to its bound, and listeners are let in up to theirs', async () => {
  const { api, ask } = await site()
  let sent = 0
  const endless = new ReadableStream({
    pull: (controller) => {
      sent += 65_536
      controller.enqueue(new Uint8Array(65_536).fill(32))
    },
  })
  const headers = { 'content-type': 'application/json' }
  const asked = new Request('http://admin/dead-letters/preview', {
    method: 'POST',
    headers,
    body: endless,
    duplex: 'half',
  } as RequestInit)
  expect((await api(asked)).status).toBe(413)
  expect(sent).toBeLessThan(4 * 1024 * 1024)
  const leaving = new AbortController()
  const listen = () => api(new Request('http://admin/events', { signal: leaving.signal }))
  for (let count = 0; count < 16; count++) expect((await listen()).status).toBe(200)
  expect(await ask('/events')).toMatchObject({ status: 429, json: { code: 'busy' } })
  leaving.abort()
  const again = await listen()
  expect(again.status).toBe(200)
})

test('a mode that there is not is refused when the API is made', () => {
  const hapax = engine({ store: memoryStore(), log: () => {} })
  for (const mode of ['readonly', 'read_only', 'READ-ONLY', '', null])
    expect(() => adminApi({ hapax, authorize: () => ann, mode: mode as 'read-only' }), String(mode)).toThrow(
      /read-write, read-only/,
    )
})

test('half of a pair, an unknown name and one that is there twice are refused, and never passed over', async () => {
  const { ask, answered } = await site()
  await answered('acme', 'k')
  const paths = [
    '/audit?scope=nobody',
    '/audit?key=k',
    '/audit/verify?sequence=1',
    '/audit/verify?hash=ab',
    '/audit?keys=k',
    '/audit/verify?anchor=1',
    '/records?tenant=acme&tenant=globex',
    ...['/stats', '/routes', '/workers', '/health', '/events', '/openapi.json'].map((path) => `${path}?tenant=acme`),
  ]
  for (const path of paths) expect(await ask(path), path).toMatchObject({ status: 400, json: { code: 'invalid' } })
  const purge = { scope: 'acme', key: 'k', reason: 'a test' }
  for (const path of ['/records/purge?dry_run=1', '/dead-letters/preview?kind=a'])
    expect(await ask(path, purge), path).toMatchObject({ status: 400, json: { code: 'invalid' } })
  expect((await ask('/records?key=k')).json.items).toMatchObject([{ state: 'completed' }])
})

describe('a write', () => {
  const purge = { scope: 'acme', key: 'k', reason: 'a test' }

  test('is refused by an API that only shows, whoever asks', async () => {
    const { ask, answered } = await site({ authorize: () => ann, mode: 'read-only' })
    await answered('acme', 'k')
    expect(await ask('/records/purge', purge)).toMatchObject({ status: 403, json: { code: 'read_only' } })
    expect((await ask('/records?key=k')).json.items).toMatchObject([{ state: 'completed' }])
  })

  test('is refused from another site, and from a form', async () => {
    const { ask, answered } = await site()
    await answered('acme', 'k')
    for (const from of ['cross-site', 'same-site', 'none'])
      expect(await ask('/records/purge', purge, { 'sec-fetch-site': from })).toMatchObject({
        json: { code: 'cross_site' },
      })
    expect(await ask('/records/purge', purge, { 'content-type': 'text/plain' })).toMatchObject({ status: 415 })
    expect(await ask('/records/purge', purge, { 'sec-fetch-site': 'same-origin' })).toMatchObject({ status: 200 })
  })

  test('needs a key, a reason, and nothing that is not known', async () => {
    const { api, ask, answered } = await site()
    await answered('acme', 'k')
    const headers = { 'content-type': 'application/json' }
    const bare = new Request('http://admin/records/purge', { method: 'POST', headers, body: JSON.stringify(purge) })
    expect(await (await api(bare)).json()).toMatchObject({ code: 'idempotency_key_missing' })
    expect(await ask('/records/purge', { ...purge, reason: ' ' })).toMatchObject({ status: 400 })
    expect(await ask('/records/purge', { ...purge, force: true })).toMatchObject({
      status: 400,
      json: { code: 'invalid' },
    })
  })

  test('is done once, however often it is sent under its key, and written down once', async () => {
    const { ask, answered } = await site()
    await answered('acme', 'k')
    const key = { 'idempotency-key': 'once' }
    const [first, second] = [await ask('/records/purge', purge, key), await ask('/records/purge', purge, key)]
    expect(second.json).toEqual(first.json)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect((await ask('/audit')).json.items).toHaveLength(1)
  })
})

test('a purge takes the answer away, and the next request runs; never what is unknown', async () => {
  const { ask, answered, doubtful } = await site()
  expect((await answered('acme', 'k')).replayed).toBe(false)
  expect((await answered('acme', 'k')).replayed).toBe(true)
  expect(await ask('/records/purge', { scope: 'acme', key: 'k', reason: 'a wrong answer' })).toMatchObject({
    status: 200,
  })
  expect((await answered('acme', 'k')).replayed).toBe(false)
  await doubtful('acme', 'd')
  const refused = await ask('/records/purge', { scope: 'acme', key: 'd', reason: 'a wrong answer' })
  expect(refused).toMatchObject({ status: 409, json: { code: 'not_completed' } })
})

test('a doubt is settled with its answer, which a retry gets; not landed counts once a slow holder cannot act', async () => {
  const { ask, doubtful, answered, clock } = await site()
  await doubtful('acme', 'd')
  await doubtful('acme', 'e')
  const word = { scope: 'acme', evidence: 'seen', reason: 'asked' }
  const answer = { status: 201, body: 'paid' }
  expect(await ask('/records/settle', { ...word, key: 'd', says: 'landed' })).toMatchObject({
    json: { code: 'answer_missing' },
  })
  expect(await ask('/records/settle', { ...word, key: 'd', says: 'completed', answer })).toMatchObject({ status: 200 })
  expect(await answered('acme', 'd')).toMatchObject({ value: 'paid', replayed: true })
  const sent = { 'idempotency-key': 'the-same' }
  const early = await ask('/records/settle', { ...word, key: 'e', says: 'not_landed' }, sent)
  expect(early).toMatchObject({ status: 409, json: { code: 'too_early', retryable: true, retry_after: 10 } })
  await clock.advance(10_000)
  const later = await ask('/records/settle', { ...word, key: 'e', says: 'not_landed' }, sent)
  expect(later).toMatchObject({ status: 200 })
  expect(await answered('acme', 'e')).toMatchObject({ value: 'paid', replayed: false })
})

test('a story counts what came back to this process, and tells of mismatches and conflicts', async () => {
  const { ask, answered, hapax } = await site()
  const policy = hapax.policy({ name: 'payments.create' })
  await answered('acme', 'k')
  await answered('acme', 'k')
  await hapax.run({ scope: 'acme', key: 'k', input: 'another', policy }, async () => 1).catch(() => {})
  const { json } = await ask('/records/story?scope=acme&key=k')
  expect(json.counts).toMatchObject({ replays: 1, mismatches: 1, conflicts: 0 })
})

test('events are streamed, those of other tenants are not, and a listener that goes is forgotten', async () => {
  const { api, answered, hapax } = await site({ authorize: () => ({ who: 'ann', may: { read: ['acme'] } }) })
  const leaving = new AbortController()
  const response = await api(new Request('http://admin/events', { signal: leaving.signal }))
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const next = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await next()).toBe('retry: 2000\n: listening\n\n')
  await answered('globex', 'k')
  await answered('acme', 'k')
  const heard = await next()
  expect(heard).toMatch(/^id: \w+\.1\nevent: reserved\ndata: \{"at":.*"scope":"acme"/)
  expect(heard).not.toContain('"k"')
  expect(hapax.events.hears('compared_as_bytes')).toBe(true)
  leaving.abort()
  while (!(await reader.read()).done);
  expect(hapax.events.hears('compared_as_bytes')).toBe(false)
})

test('a listener that is too slow is told how much it has missed', async () => {
  const { api, hapax } = await site()
  const response = await api(new Request('http://admin/events'))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  for (let count = 0; count < 400; count++) hapax.events.emit('reaped', () => ({ buried: count, deleted: 0 }))
  const seen: string[] = []
  for (let count = 0; count < 256; count++) seen.push(new TextDecoder().decode((await reader.read()).value))
  hapax.events.emit('reaped', () => ({ buried: 1, deleted: 1 }))
  expect(new TextDecoder().decode((await reader.read()).value)).toMatch(
    /^id: \w+\.\d+\nevent: missed\ndata: \{"events":14[45]\}/,
  )
  await reader.cancel()
  expect(hapax.events.hears('reaped')).toBe(false)
})

test('a listener that comes back is told that it has missed something, since its last event', async () => {
  const { api } = await site()
  const response = await api(new Request('http://admin/events', { headers: { 'last-event-id': 'abc.7' } }))
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  const told = new TextDecoder().decode((await reader.read()).value)
  expect(told).toMatch(/^id: \w+\.1\nevent: missed\ndata: \{"since":"abc\.7"\}\n\n$/)
  await reader.cancel()
})

test('a write may be as long as the API says: an answer that is kept whole, however JSON spells it', async () => {
  const { ask, doubtful, answered } = await site()
  await doubtful('acme', 'd')
  const word = { scope: 'acme', key: 'd', says: 'completed', evidence: 'seen', reason: 'asked' }
  const answer = (body: string) => ({ status: 200, headers: { 'content-type': 'application/json' }, body })
  const long = JSON.stringify('"'.repeat(450_000))
  const settled = await ask('/records/settle', { ...word, answer: answer(long) })
  expect(JSON.stringify({ ...word, answer: answer(long) }).length).toBeGreaterThan(1024 * 1024)
  expect(settled.status).toBe(200)
  expect((await answered('acme', 'd')).value).toHaveLength(450_000)
  expect(await ask('/records/settle', { ...word, answer: answer('x'.repeat(2 * 1024 * 1024)) })).toMatchObject({
    status: 413,
  })
})

test('it describes itself, in valid OpenAPI', async () => {
  const { ask } = await site({ authorize: () => ann, path: '/ops' })
  const { json } = await ask('/ops/openapi.json')
  const validator = new Validator()
  expect(await validator.validate(structuredClone(json) as never)).toEqual({ valid: true })
  expect(Object.keys(json.paths as object)).toContain('/ops/records/settle')
})
