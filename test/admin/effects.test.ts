import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EffectCall, effects, engine, type LookedUp, workOnce } from 'hapax'
import { adminApi, everything, type Operator } from 'hapax/admin'
import { type SqliteStore, sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'

/** Effects through the API: doubts are settled by evidence, once, and each operator sees his tenants' alone. */

async function site({
  tenants = ['acme', 'globex'],
  lookup = undefined as Lookup | undefined,
  ends = 'unknown' as 'unknown' | 'dead',
} = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-admin-effects-'))
  const silent = {
    call: (_: EffectCall<number>): number => {
      throw new Error('no answer came')
    },
    timeout: '1ms',
    ...(lookup && { lookup }),
    ...(ends === 'dead' && { classify: () => 'answered' as const }),
  } as const
  const asked: string[] = []
  const hapax = engine({
    store: listening(sqliteStore({ path: join(folder, 'a.db') }), asked),
    effects: effects({ 'refund.make': silent, 'payout.make': { ...silent, apply: () => {} } }),
    log: () => {},
  })
  let operator: Operator = { who: 'ann', may: everything }
  const api = adminApi({ hapax, authorize: () => operator })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const policy = hapax.policy({ name: 'payments.create' })
  for (const scope of tenants)
    await hapax.run({ scope, key: 'k', policy }, (work) =>
      work.commit(({ effect }) => {
        effect('refund.make', 1)
        effect('payout.make', 2)
        return true
      }),
    )
  await workOnce({ hapax })
  const ask = async (path: string, body?: object, key: string = crypto.randomUUID()) => {
    const write = { method: 'POST', body: JSON.stringify(body) }
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const response = await api(new Request(`http://admin${path}`, body && { ...write, headers }))
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  const word = { says: 'landed', evidence: 'in the books', reason: 'the customer asks' }
  return {
    ask,
    asked,
    settle: (id: number, more: object = {}, key?: string) => ask('/effects/settle', { id, ...word, ...more }, key),
    as: (who: Operator) => {
      operator = who
    },
  }
}

/** Notes what is asked of the outbox, of calls and of the log: by that a stranger could tell by the time it takes. */
function listening(store: SqliteStore, asked: string[]): SqliteStore {
  const heard = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (target, name, self) => {
        asked.push(String(name))
        return Reflect.get(target, name, self)
      },
    })
  return { ...store, effects: heard(store.effects), calls: heard(store.calls), audit: heard(store.audit) }
}

type Lookup = () => LookedUp<number> | undefined

test('a doubt about an effect is found, explained, settled once however often it is sent, and written down', async () => {
  const { ask, settle } = await site()
  expect((await ask('/effects?state=unknown')).json.items).toMatchObject([
    { id: 1, kind: 'refund.make', scope: 'acme', state: 'unknown' },
    { id: 2 },
    { id: 3 },
    { id: 4 },
  ])
  const story = (await ask('/effects/story?id=1')).json
  expect((story.sentences as string[]).join(' ')).toMatch(/Nobody knows since .* whether it took place: .* settle it/)

  const settled = await settle(1, {}, 'once')
  expect(settled).toMatchObject({
    status: 200,
    json: { effect: { state: 'ready' }, audit: [{ sequence: 1, action: 'settle', subject: 'effect:1', who: 'ann' }] },
  })
  expect((await settle(1, {}, 'once')).json).toEqual(settled.json)
  expect(await settle(1)).toMatchObject({ status: 409, json: { code: 'not_in_doubt' } })
  expect(await settle(99)).toMatchObject({ status: 404, json: { code: 'absent' } })
  expect(await settle(2)).toMatchObject({ status: 422, json: { code: 'result_missing' } })
  expect(await settle(2, { says: 'completed' })).toMatchObject({ status: 400 })
  expect(await settle(2, { reason: '' })).toMatchObject({ status: 400 })
  expect((await ask('/audit')).json.items).toHaveLength(1)
  expect((await ask('/records/story?scope=acme&key=k')).json.operator_actions).toMatchObject([{ subject: 'effect:1' }])
  expect((await ask('/stats')).json).toMatchObject({ effects: { unknown: { count: 3 }, waiting: 1 } })
})

test("another tenant's effects are not there for who may not look, settle, redrive or discard", async () => {
  const { ask, settle, as } = await site()
  const may = { read: ['acme'], settle: ['acme'], redrive: ['acme'], discard: ['acme'] }
  as({ who: 'bob', may })
  expect(await settle(3)).toMatchObject({ status: 404, json: { code: 'absent' } })
  expect(await ask('/effects/story?id=3')).toMatchObject({ status: 404 })
  expect(await ask('/stats')).toMatchObject({ status: 403 })
  for (const path of ['redrive', 'discard'])
    expect((await ask(`/dead-letters/${path}`, { ids: [3, 99], reason: 'a test' })).json).toEqual({
      effects: [],
      not_dead: [3, 99],
    })
  expect((await ask('/dead-letters/preview', { ids: [3] })).json).toEqual({ effects: [], not_dead: [3] })
  expect(await settle(1)).toMatchObject({ status: 200 })
  as({ who: 'bob', may: { ...may, settle: [] } })
  expect(await settle(2)).toMatchObject({ status: 403 })
})

test('who has lost a right in one tenant is not told again what became of its effects', async () => {
  const { ask, settle, as } = await site()
  const discard = () => ask('/dead-letters/discard', { ids: [3, 99], reason: 'a test' }, 'discarded')
  const settled = await settle(1, {}, 'once')
  const discarded = await discard()
  as({ who: 'ann', may: { settle: ['globex'], discard: ['globex'] } })
  expect(await settle(1, {}, 'once')).toMatchObject({ status: 403, json: { code: 'replay_forbidden' } })
  // Nothing of anybody is told by it.
  expect(await discard()).toEqual(discarded)
  as({ who: 'ann', may: { settle: ['acme'] } })
  expect(await settle(1, {}, 'once')).toEqual(settled)
})

/** What of somebody else's could be told by: his tenant, his kinds and ids, how many there are. */
const secrets = /globex/

test('who may read in some tenants is given their effects, page by page, and no sign of any other', async () => {
  const { ask, as } = await site({ tenants: ['globex', 'acme', 'globex-2', 'initech', 'acme-2'] })
  as({ who: 'bob', may: { read: ['initech', 'acme', 'nobody'] } })
  const seen: unknown[] = []
  let next: unknown
  let pages = 0
  do {
    const page = await ask(`/effects?state=unknown&limit=1${next === undefined ? '' : `&after=${next}`}`)
    expect(page.status).toBe(200)
    expect(JSON.stringify(page.json)).not.toMatch(secrets)
    if (page.json.next !== undefined)
      expect(Buffer.from(String(page.json.next), 'base64url').toString()).toMatch(/acme"|initech|nobody/)
    seen.push(...(page.json.items as { scope: string }[]).map(({ scope }) => scope))
    next = page.json.next
  } while (next !== undefined && ++pages < 20)
  expect(seen).toEqual(['acme', 'acme', 'initech', 'initech'])
  const workers = (await ask('/workers')).json.items as { name: string }[]
  expect(workers.map(({ name }) => name)).toContain('effects')
  expect(JSON.stringify(workers)).not.toContain('last_did')
  const own = await ask('/effects?tenant=acme')
  expect((own.json.items as { id: number }[]).map(({ id }) => id)).toEqual([3, 4])
})

test('a tenant that he may not look at is refused alike, whether there is one or not', async () => {
  const { ask, as } = await site()
  as({
    who: 'bob',
    may: { read: ['acme'], redrive: ['acme'], discard: ['acme'], settle: ['acme'], reconcile: ['acme'] },
  })
  const asked = async (tenant: string) => [
    await ask(`/effects?tenant=${tenant}`),
    await ask(`/dead-letters?tenant=${tenant}`),
    await ask('/dead-letters/preview', { kind: 'refund.make', tenant }),
    await ask('/dead-letters/redrive', { kind: 'refund.make', tenant, reason: 'a test' }),
  ]
  const theirs = await asked('globex')
  expect(theirs.map(({ status }) => status)).toEqual([403, 403, 403, 403])
  expect(theirs).toEqual(await asked('nobody'))
  const reason = 'a test'
  const one = async (id: number) => [
    await ask(`/effects/story?id=${id}`),
    await ask('/effects/settle', { id, says: 'landed', evidence: 'seen', reason }),
    await ask('/effects/reconcile', { id, reason }),
  ]
  expect((await one(3)).map(({ status }) => status)).toEqual([404, 404, 404])
  expect(await one(3)).toEqual(await one(99))
})

test('no more is asked of the store about an effect of others than about one that is not there', async () => {
  const { ask, as, asked } = await site()
  as({ who: 'bob', may: { read: ['acme'], settle: ['acme'] } })
  const steps = async (path: string) => {
    asked.length = 0
    await ask(path)
    return [...asked]
  }
  expect(await steps('/effects/story?id=99')).toEqual(['find'])
  expect(await steps('/effects/story?id=3')).toEqual(['find'])
})

test('who may redrive and discard in some tenants does so there, by kind and by id, and nowhere else', async () => {
  const { ask, as } = await site({ ends: 'dead' })
  const reason = 'the mailer is back'
  as({ who: 'bob', may: { read: ['acme'], redrive: ['acme'], discard: ['acme'] } })
  const letters = (await ask('/dead-letters')).json
  expect(letters).toMatchObject({ items: [{ id: 1 }, { id: 2 }] })
  expect(JSON.stringify(letters)).not.toMatch(secrets)
  const kind = 'refund.make'
  expect((await ask('/dead-letters/preview', { kind })).json).toMatchObject({ effects: [{ id: 1, changed: false }] })
  expect((await ask('/dead-letters/redrive', { kind, reason })).json).toMatchObject({
    effects: [{ id: 1, changed: true }],
    not_dead: [],
  })
  expect((await ask('/dead-letters/discard', { ids: [2, 4, 99], reason })).json).toMatchObject({
    effects: [{ id: 2, changed: true }],
    not_dead: [4, 99],
  })
  as({ who: 'ann', may: everything })
  expect((await ask('/dead-letters')).json).toMatchObject({ items: [{ id: 3 }, { id: 4 }] })
  expect((await ask('/audit?order=oldest')).json).toMatchObject({
    items: [
      { action: 'redrive', subject: 'effect:1', who: 'bob' },
      { action: 'discard', subject: 'effect:2', who: 'bob' },
    ],
  })
})

test('what somebody says that a call returned is in the log by its hash', async () => {
  const { settle } = await site()
  const { json } = await settle(2, { result: { id: 're_1' } })
  const sha256 = createHash('sha256').update('{"id":"re_1"}').digest('hex')
  expect(json.audit).toMatchObject([
    { after: { kind: 'payout.make', supplied: { what: 'result', sha256, bytes: 13 } } },
  ])
})

test('each effect that is looked at with all others has its own entry', async () => {
  const { ask } = await site({ tenants: ['acme', 'globex'], lookup: () => ({ landed: true, result: 1 }) })
  const looked = async () => {
    await ask('/reconcile', { reason: 'a test' })
    const { items } = (await ask('/audit')).json as { items: { subject: string }[] }
    return items.flatMap(({ subject }) => (subject === 'all' ? [] : [subject])).sort()
  }
  await expect.poll(looked, { timeout: 4_000 }).toEqual(['effect:1', 'effect:2', 'effect:3', 'effect:4'])
})

test('one doubt about an effect is looked at now, whenever its time comes, once however often it is sent', async () => {
  let said: LookedUp<number> | undefined
  let looks = 0
  const lookup: Lookup = () => {
    looks++
    return said
  }
  const { ask } = await site({ lookup })
  const reason = 'the provider is back'
  const look = (id: number, key?: string) => ask('/effects/reconcile', { id, reason }, key)
  const first = await look(1, 'once')
  expect(first).toMatchObject({
    status: 200,
    json: { came: { put_off: 1 }, effect: { state: 'unknown' }, audit: [{ action: 'reconcile', subject: 'effect:1' }] },
  })
  expect(looks).toBe(1)
  expect((await look(1, 'once')).json).toEqual(first.json)
  expect(looks).toBe(1)
  said = { landed: true, result: 7 }
  expect(await look(1)).toMatchObject({ status: 200, json: { came: { settled: 1 }, effect: { state: 'ready' } } })
  expect(await look(1)).toMatchObject({ status: 409, json: { code: 'not_in_doubt' } })
  expect(await look(99)).toMatchObject({ status: 404 })
  expect(await ask('/effects/reconcile', { id: 2 })).toMatchObject({ status: 400 })
  expect(looks).toBe(2)
  expect((await ask('/effects/story?id=1')).json.said).toMatchObject([{ says: 'landed' }])
})

test('a place that is none is refused, and so is a tenant that has no name', async () => {
  const { ask, as } = await site()
  for (const path of [
    '/effects?after=x',
    '/effects?tenant=acme&after=7',
    '/dead-letters?after=e30',
    '/effects?tenant=%20',
  ])
    expect(await ask(path), path).toMatchObject({ status: 400, json: { code: 'invalid' } })
  as({ who: 'bob', may: { read: ['acme'] } })
  expect(await ask('/effects?after=7')).toMatchObject({ status: 400 })
})

test("operators' own keys are no tenant", async () => {
  const { ask, settle } = await site()
  expect(await settle(1)).toMatchObject({ status: 200 })
  expect((await ask('/tenants')).json.items).toMatchObject([{ tenant: 'acme' }, { tenant: 'globex' }])
  expect((await ask('/audit')).json.items).toHaveLength(1)
})
