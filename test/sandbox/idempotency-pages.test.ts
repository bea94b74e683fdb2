import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { acme, ask, coffee, globex, pay } from './payment-client.js'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSandbox()
})

test('its policy is served: every guarded route, its methods, how long its answers are kept, its body limit', async () => {
  const { status, json } = await ask(sandbox, '/idempotency/policy')
  expect([status, json.scoped_by]).toEqual([200, 'tenant'])
  const routes = json.routes as readonly { readonly name: string }[]
  expect(routes.find(({ name }) => name === 'payments.create')).toMatchObject({
    methods: ['POST'],
    key: { header: 'Idempotency-Key', required: true },
    retention: { ms: 24 * 60 * 60 * 1_000 },
    limits: { body_bytes: 1_000_000 },
    key_status: '/idempotency/status',
    statuses: { idempotency_key_reused_with_different_payload: 422, idempotency_key_in_progress: 409 },
  })
  expect(routes.find(({ name }) => name === 'orders.create')).toMatchObject({
    retention: { ms: 7 * 24 * 60 * 60 * 1_000 },
    statuses: { idempotency_key_reused_with_different_payload: 409, idempotency_key_in_progress: 409 },
  })
})

test('the same is served as a part of an OpenAPI description', async () => {
  const { status, json } = await ask(sandbox, '/idempotency/openapi')
  expect([status, json.openapi]).toEqual([200, expect.stringMatching(/^3\.1/)])
  expect(json).toMatchObject({ components: { pathItems: { 'payments.create': { post: expect.any(Object) } } } })
})

test('the type of a problem leads to its explanation', async () => {
  const key = randomUUID()
  await pay(sandbox, { key })
  const { json } = await pay(sandbox, { key, body: { ...coffee, amountCents: 451 } })
  const place = new URL(String(json.type), sandbox.url)
  const page = await fetch(place)
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(await page.text()).toContain(`id="${place.hash.slice(1)}"`)
})

test('a tenant is told how its own key stands; to another tenant it is as unknown as one that nobody used', async () => {
  const key = randomUUID()
  const state = (headers: Record<string, string>, of: string) =>
    ask(sandbox, '/idempotency/status', { headers: { ...headers, 'idempotency-key': of } })
  const unknown = await state(acme, key)
  expect(unknown).toMatchObject({ status: 404, json: { code: 'idempotency_key_unknown' } })
  await pay(sandbox, { key })
  const own = await state(acme, key)
  expect(own).toMatchObject({ status: 200, json: { state: 'completed', operation: 'payments.create', status: 201 } })
  const foreign = await state(globex, key)
  expect([foreign.status, foreign.text]).toEqual([404, unknown.text])
  expect(await state({}, key)).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
})
