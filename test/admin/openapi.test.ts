import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { effects, engine, workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { sqliteStore } from 'hapax/sqlite'
import { telemetry } from 'hapax/telemetry'
import { expect, onTestFinished, test } from 'vitest'

/** What the API says of its answers is what it answers: all of it, and nothing else. */

test('every answer is as OpenAPI describes it, and has nothing that is not described', async () => {
  const { ask, letters, doubtfulEffects } = await site()
  const { json: document } = await ask('/openapi.json')
  const shapes = validators(document as unknown as Described)
  const seen = new Set<string>()
  const answered = async (path: string, body?: object) => {
    const { status, json } = await ask(path, body)
    expect(status, `${path} ${JSON.stringify(json)}`).toBe(200)
    const name = `${body === undefined ? 'get' : 'post'} ${path.split('?')[0]}`
    seen.add(name)
    expect(shapes.get(name)?.(json), name).toEqual([])
  }
  const reason = 'a test'
  const [landed = 0, looked = 0] = await doubtfulEffects()
  const word = { scope: 'acme', reason, evidence: 'seen' }
  for (const path of ['/records', '/records/story?scope=acme&key=doubt-1', '/records/story?scope=acme&key=paid'])
    await answered(path)
  await answered('/records/reconcile', { scope: 'acme', key: 'doubt-2', reason })
  await answered('/records/settle', {
    ...word,
    key: 'doubt-1',
    says: 'completed',
    answer: { status: 201, body: 'paid' },
  })
  await answered('/records/purge', { scope: 'acme', key: 'no-effects', reason })
  for (const path of ['/effects', `/effects/story?id=${landed}`]) await answered(path)
  await answered('/effects/reconcile', { id: looked, reason })
  await answered('/effects/settle', { id: landed, says: 'landed', result: 1, evidence: 'seen', reason })
  const [redriven, discarded] = await letters()
  await answered('/dead-letters')
  await answered('/dead-letters/preview', { ids: [redriven] })
  await answered('/dead-letters/redrive', { ids: [redriven], reason })
  await answered('/dead-letters/discard', { ids: [discarded], reason })
  for (const path of ['/records', '/records/story?scope=acme&key=doubt-1', `/effects/story?id=${landed}`])
    await answered(path)
  for (const path of ['/stats', '/tenants', '/tenants?tenant=acme', '/routes', '/workers', '/health', '/audit'])
    await answered(path)
  await answered('/reconcile', { reason })
  await answered('/audit/verify')
  expect([...seen].sort()).toEqual([...shapes.keys()].sort())
})

test('it says by what an operator is known, and what is refused is a problem', async () => {
  const { ask } = await site()
  const { json } = await ask('/openapi.json')
  expect(json).toMatchObject({
    security: [{ operator: [] }],
    components: { securitySchemes: { operator: { type: 'http', scheme: 'bearer' } } },
  })
  for (const path of Object.values(json.paths as Record<string, Record<string, { responses: object }>>))
    for (const { responses } of Object.values(path)) expect(responses).toHaveProperty('default')
})

interface Described {
  readonly paths: Record<
    string,
    Record<string, { responses: { 200: { content: Record<string, { schema: object }> } } }>
  >
  readonly components: { readonly schemas: Record<string, object> }
}

/** By method and path: what is wrong with an answer. */
function validators(document: Described): ReadonlyMap<string, (answer: unknown) => unknown> {
  const ajv = new Ajv2020({
    formats: { 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ },
    allErrors: true,
    keywords: ['components'],
  })
  const { components } = JSON.parse(JSON.stringify(document)) as Described
  ajv.addSchema({ $id: 'api', components: { schemas: closed(components.schemas) } })
  const found = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) => {
      const schema = responses[200].content['application/json']?.schema as { $ref: string } | undefined
      if (schema === undefined) return []
      const validate = ajv.compile({ $ref: `api${schema.$ref}` })
      const wrong = (answer: unknown) => (validate(answer) ? [] : validate.errors)
      return [[`${method} ${path}`, wrong] as const]
    }),
  )
  return new Map(found)
}

/** The same schemas, letting in nothing that they do not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return inner.type === 'object' && 'properties' in inner ? { ...inner, additionalProperties: false } : inner
}

/** Two payments in doubt and one that was paid; an effect of each of its kinds in doubt, and two that are dead. */
async function site() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-admin-openapi-'))
  const fails = (): number => {
    throw new Error('no answer came')
  }
  const hapax = engine({
    store: sqliteStore({ path: join(folder, 'a.db') }),
    log: () => {},
    quotas: { activeKeys: 100, storedBytes: 1_000_000, newKeys: { most: 1_000, per: '1m' } },
    effects: effects({
      'refund.make': { call: fails, timeout: '1ms', apply: () => {} },
      'payout.make': { call: fails, timeout: '1ms', lookup: () => ({ landed: true, result: 1 }) },
      'receipt.send': { call: fails, classify: () => 'answered' },
    }),
  })
  const watch = telemetry({ hapax, every: 'off' })
  const api = adminApi({
    hapax,
    authorize: () => ({ who: 'ann', may: everything }),
    rates: watch.tenants,
    routes: () => [{ method: 'POST', path: '/payments', verdict: 'guarded', by: 'payments.create' }],
  })
  onTestFinished(async () => {
    api.close()
    await watch.stop()
    await hapax.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const operation = hapax.operation('payments.create', { version: 1 }, async (work, { paid }: { paid: boolean }) => {
    const charge = await work.call('charged', {
      run: () => (paid ? 1 : fails()),
      lookup: (): undefined => void fails(),
    })
    return work.commit(({ effect }) => {
      for (const kind of ['refund.make', 'payout.make', 'receipt.send', 'receipt.send'] as const) effect(kind, charge)
      return { status: 201, headers: { Location: '/payments/1' }, body: charge }
    })
  })
  for (const key of ['paid', 'doubt-1', 'doubt-2'])
    await hapax.perform({ scope: 'acme', key, operation, input: { paid: key === 'paid' } }).catch(() => {})
  await hapax.run({ scope: 'acme', key: 'no-effects', policy: hapax.policy({ name: 'pings.create' }) }, async () => 1)
  await workOnce({ hapax })
  const idsIn = async (state: 'unknown' | 'dead') =>
    ((await hapax.outbox?.list({ state, limit: 10 }))?.effects ?? []).map(({ id }) => id)
  return {
    doubtfulEffects: () => idsIn('unknown'),
    letters: () => idsIn('dead'),
    async ask(path: string, body?: object) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
      const write = body && { method: 'POST', headers, body: JSON.stringify(body) }
      const response = await api(new Request(`http://admin${path}`, write))
      return { status: response.status, json: (await response.json()) as Record<string, unknown> }
    },
  }
}
