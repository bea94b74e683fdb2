import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { engine, type LogEntry, type Store } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { memoryStore } from 'hapax/memory'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'

/** What operators send wrongly is their mistake and is told as that, whatever the store; a database's words are for the log. */

async function site<Tx>(store: Store<Tx>) {
  const logged: LogEntry[] = []
  const hapax = engine({ store, log: (entry) => logged.push(entry) })
  const api = adminApi({ hapax, authorize: () => ({ who: 'ann', may: everything }) })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
  })
  const policy = hapax.policy({ name: 'payments.create' })
  for (const scope of ['acme', 'globex', 'initech'])
    for (const key of ['a', 'b']) {
      await hapax.run({ scope, key, policy }, async () => 'paid')
      await purged(scope, key)
    }
  function purged(scope: string, key: string) {
    return post('/records/purge', { scope, key, reason: 'a test' })
  }
  async function post(path: string, body: object) {
    const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
    return told(await api(new Request(`http://admin${path}`, { method: 'POST', headers, body: JSON.stringify(body) })))
  }
  const get = async (path: string) => told(await api(new Request(`http://admin${path}`)))
  return { hapax, logged, get, post }
}

async function told(response: Response) {
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

const wrong = { status: 400, json: { code: 'invalid', retryable: false } }

/** A place of the right shape, and of no page. */
const place = (...parts: readonly unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')

function declare(fresh: () => Promise<Store<unknown>>, keeps: 'effects' | 'no effects') {
  const lists = [
    '/records?',
    '/records?tenant=acme&',
    '/records?key_prefix=a&',
    '/records?state=unknown&',
    '/records?state=in_progress&',
    '/records?scope=acme&',
    '/tenants?',
    '/audit?',
    '/audit?order=oldest&',
    ...(keeps === 'effects'
      ? ['/effects?', '/effects?tenant=acme&', '/dead-letters?', '/dead-letters?tenant=acme&']
      : []),
  ]

  test('a place that no page has ended at is refused, in every list', async () => {
    const { get, logged } = await site(await fresh())
    const none = ['zzz', '-1', '1.5', '1e400', '9999999999999999999', place('a\0', 1), place(1e300, 1), place({}), 'NQ']
    for (const list of lists)
      for (const after of none) expect(await get(`${list}after=${after}`), `${list} ${after}`).toMatchObject(wrong)
    expect(logged).toEqual([])
  })

  test('a page that was given goes on, in every list', async () => {
    const { get } = await site(await fresh())
    for (const [list, count] of [
      ['/tenants?', 3],
      ['/audit?', 6],
      ['/records?tenant=acme&', 2],
      ['/records?', 6],
    ] as const) {
      let seen = 0
      let after = ''
      for (let pages = 0; pages < 20; pages++) {
        const { json } = await get(`${list}limit=1${after}`)
        seen += (json.items as unknown[]).length
        if (json.next === undefined) break
        after = `&after=${json.next}`
      }
      // Those of the API itself are beside them.
      expect(seen, list).toBeGreaterThanOrEqual(count)
    }
  })

  test('a text with a NUL in it, and a time that no database has, are refused', async () => {
    const { get, post, logged } = await site(await fresh())
    const filters = ['key', 'key_prefix', 'operation', 'resource', 'scope', 'tenant', 'after']
    for (const name of filters) expect(await get(`/records?${name}=a%00`), name).toMatchObject(wrong)
    for (const name of ['kind', 'tenant', 'after']) expect(await get(`/effects?${name}=%00`), name).toMatchObject(wrong)
    for (const since of ['-271821-04-20T00:00:00Z', '%2B275760-09-13T00:00:00Z', 'zzz'])
      for (const name of ['since', 'until'])
        expect(await get(`/records?${name}=${since}`), `${name} ${since}`).toMatchObject(wrong)
    expect(await get('/records/story?scope=acme&key=%00')).toMatchObject(wrong)
    expect(await get('/tenants?tenant=%00')).toMatchObject(wrong)
    const purge = { scope: 'acme', key: 'a', reason: 'a test' }
    for (const name of Object.keys(purge))
      expect(await post('/records/purge', { ...purge, [name]: 'a\0' }), name).toMatchObject(wrong)
    expect(logged).toEqual([])
  })
}

describe('on memory', () => declare(async () => memoryStore() as Store<unknown>, 'no effects'))

describe('on SQLite', () =>
  declare(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hapax-admin-input-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    return sqliteStore({ path: join(folder, 'a.db') }) as Store<unknown>
  }, 'effects'))

onPostgres('on PostgreSQL', (url) => {
  declare(async () => (await schemaOfTest(url)).node().store as Store<unknown>, 'effects')

  test('what the database said is in the log and in no answer', async () => {
    const fresh = await schemaOfTest(url)
    const { get, logged } = await site(fresh.node().store)
    await fresh.owner.query(`ALTER TABLE ${fresh.schema}.audit RENAME TO lost`)
    const failed = await get('/audit')
    expect(failed).toMatchObject({ status: 503, json: { code: expect.any(String), retryable: expect.any(Boolean) } })
    expect(JSON.stringify(failed.json)).not.toMatch(/audit|relation/)
    expect(logged.some(({ message }) => /relation .*audit/.test(message))).toBe(true)
  })
})
