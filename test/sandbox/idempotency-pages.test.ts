import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { ask, coffee, pay } from './payment-client.js'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSandbox()
})

test('its policy is served: the one guarded route, its methods, how long its answers are kept, its body limit', async () => {
  const { status, json } = await ask(sandbox, '/idempotency/policy')
  expect(status).toBe(200)
  expect(json).toMatchObject({
    scoped_by: 'tenant',
    routes: [
      {
        name: 'payments.create',
        methods: ['POST'],
        key: { header: 'Idempotency-Key', required: true },
        retention: { ms: 24 * 60 * 60 * 1_000 },
        limits: { body_bytes: 1_000_000 },
        statuses: { idempotency_key_reused_with_different_payload: 422, idempotency_key_in_progress: 409 },
      },
    ],
  })
})

test('the same is served as a part of an OpenAPI description', async () => {
  const { status, json } = await ask(sandbox, '/idempotency/openapi.json')
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
