import { randomUUID } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { RouteOptions } from 'fastify'
import { beforeAll, expect, test } from 'vitest'
import { addRoutes } from '../../examples/sandbox/src/routes.js'
import { closeSandbox, openSandbox } from '../../examples/sandbox/src/sandbox.js'
import { settingsFrom } from '../../examples/sandbox/src/settings.js'
import { webApp } from '../../examples/sandbox/src/web/web-app.js'
import { type Documented, documented, type OpenApi } from './documented.js'
import { acme } from './payment-client.js'
import { fault, get, postJson, trip } from './sandbox-client.js'
import { emptyDirectory, type SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

let sandbox: SandboxProcess
let document: OpenApi
let api: Documented
beforeAll(async () => {
  sandbox = await startSupervised()
  document = (await get(sandbox, '/openapi.json')).json as unknown as OpenApi
  api = documented(document)
})

test('it is valid OpenAPI 3.1, and all that it refers to is there', async () => {
  const validator = new Validator()
  const specification = structuredClone(document) as unknown as Parameters<Validator['validate']>[0]
  expect(await validator.validate(specification)).toEqual({ valid: true })
  expect(validator.version).toBe('3.1')
  const referred = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path)
  const found = (path: string) =>
    path.split('/').reduce((part, name) => (part as Record<string, unknown> | undefined)?.[name], document as unknown)
  expect(referred.filter((path) => found(path) === undefined)).toEqual([])
})

test('it has the routes that there are, and no other', async () => {
  const described = operations(document).map(([route]) => route)
  expect(described.sort()).toEqual((await routesOfFastify()).sort())
})

test('every guarded operation has its key, its statuses and its retention, as the policy in force has them', async () => {
  const { json } = await get(sandbox, '/idempotency/policy')
  const policies = json.routes as { name: string; retention: { ms: number | null }; statuses: Record<string, number> }[]
  const guarded = operations(document).filter(([, operation]) => operation['x-idempotency'] !== undefined)
  expect(guarded.map(([, { operationId }]) => operationId).sort()).toEqual(policies.map(({ name }) => name).sort())
  for (const [route, operation] of guarded) {
    const policy = policies.find(({ name }) => name === operation.operationId)
    expect(operation['x-idempotency'], route).toMatchObject({ retention: policy?.retention })
    const statuses = Object.values(policy?.statuses ?? {}).map(String)
    expect(
      statuses.filter((status) => !(status in operation.responses)),
      route,
    ).toEqual([])
    const keys = operation.parameters?.filter(({ $ref = '' }) => $ref.includes('/Idempotency-Key'))
    expect(keys, route).toHaveLength(1)
  }
})

test('what the systems answer is what it says that they answer', async () => {
  const post = async (path: string, body: unknown, status: number) => {
    const answer = await postJson(sandbox, path, body)
    expect([answer.status, answer.text]).toEqual([status, expect.anything()])
    api.check('POST', path, answer)
    return answer.json
  }
  const read = async (path: string) => api.check('GET', path, await get(sandbox, path))

  const payment = await post('/payments', { customerId: 'cus_1', amountCents: 450, currency: 'USD' }, 201)
  const ride = await post('/rides', trip, 201)
  const note = await post('/notifications', { userId: 'usr_acme_ada', text: 'Hello' }, 202)
  const withdrawal = await post('/sb/v1/withdraw', { amount: 5, currency: 'usd', customer: 'cus_1' }, 201)
  const sum = { amount: '3.00', currency: 'USD' }
  const topup = await post('/topups', { user_id: 'usr_acme_ada', ...sum }, 201)
  const order = await post('/orders', { buyer_id: 'usr_acme_ada', seller_id: 'usr_acme_bo', ...sum }, 201)
  await post(`/orders/${order.id}/reserve`, {}, 200)
  await post(`/orders/${order.id}/escrow`, {}, 201)
  await post(`/orders/${order.id}/escrow/fund`, {}, 200)
  const dispute = await post(`/orders/${order.id}/disputes`, { reason: 'It never came.' }, 201)
  await post(`/disputes/${dispute.id}/resolve`, { decision: 'refund' }, 200)
  const payout = await post('/withdrawals', { user_id: 'usr_acme_bo', ...sum, destination: { ref: 'b' } }, 201)
  await post(`/withdrawals/${payout.id}/commit`, {}, 200)
  await post(`/withdrawals/${payout.id}/refresh`, {}, 200)
  await post(`/topups/${topup.id}/refresh`, {}, 200)

  const one = [`/payments/${payment.id}`, `/rides/${ride.id}`, `/notifications/${note.id}`, `/topups/${topup.id}`]
  const more = [
    `/orders/${order.id}`,
    `/orders/${order.id}/escrow`,
    `/orders/${order.id}/disputes`,
    `/disputes/${dispute.id}`,
  ]
  for (const path of [...one, ...more, `/withdrawals/${payout.id}`, `/sb/v1/withdrawals/${withdrawal.id}`])
    await read(path)
  for (const list of ['payments', 'rides', 'notifications', 'topups', 'orders', 'disputes', 'withdrawals', 'ledger'])
    await read(`/${list}?limit=1`)
  for (const page of ['/users', '/_providers/ledger', '/_providers/faults', '/_providers/deliveries']) await read(page)
  for (const page of ['/_providers/settings', '/_sandbox/process', '/idempotency/policy', '/openapi.json'])
    await read(page)
})

test('what they refuse is told as it says', async () => {
  for (const path of [
    '/payments',
    '/rides',
    '/notifications',
    '/sb/v1/withdraw',
    '/topups',
    '/orders',
    '/withdrawals',
  ]) {
    const refused = await postJson(sandbox, path, { amount: -1 })
    expect(refused.status).toBe(400)
    api.check('POST', path, refused)
    api.check('POST', path, await postJson(sandbox, path, {}, { tenant: { authorization: 'Bearer nobody' } }))
  }
  for (const path of ['/payments/x', '/rides/x', '/orders/x', '/sb/v1/withdrawals/x'])
    api.check('GET', path, await get(sandbox, path))
  const faults = '/_providers/faults'
  api.check('POST', faults, await postJson(sandbox, faults, { provider: 'card', operation: 'charge', mode: 'none' }))
  for (const path of ['/_providers/ledger?provider=x', '/_providers/deliveries?provider=x'])
    api.check('GET', path, await get(sandbox, path))
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline', times: 2 })
  const declined = await postJson(sandbox, '/rides', trip)
  expect(declined.status).toBe(402)
  api.check('POST', '/rides', declined)
  const payment = { customerId: 'cus_1', amountCents: 450, currency: 'USD' }
  api.check('POST', '/payments', await postJson(sandbox, '/payments', payment))
  const key = randomUUID()
  for (const amountCents of [1, 2])
    api.check('POST', '/payments', await postJson(sandbox, '/payments', { ...payment, amountCents }, { key }))
})

test('a key of a guarded operation is looked at as its schema says', async () => {
  const long = 'k'.repeat(41)
  const answer = await postJson(
    sandbox,
    '/sb/v1/withdraw',
    { amount: 5, currency: 'usd', customer: 'c' },
    { key: long },
  )
  expect(answer.status).toBe(400)
  expect(api.accepts('/sb/v1/withdraw', long)).toBe(false)
  expect(api.accepts('/sb/v1/withdraw', long.slice(1))).toBe(true)
  expect(api.accepts('/rides', long)).toBe(true)
  expect((await postJson(sandbox, '/rides', trip, { key: long, tenant: acme })).status).toBe(201)
})

test('what a sandbox was started to ask for is in it: headers, and what a key is like', async () => {
  const strict = await startSupervised({
    env: {
      SANDBOX_KEYS: 'unguessable',
      SANDBOX_FIRST_SENT: 'required',
      SANDBOX_PAYMENTS_PROFILE: 'boundary',
      SANDBOX_BANK_COMPARES: 'digest',
    },
  })
  const told = (await get(strict, '/openapi.json')).json as unknown as OpenApi
  const specification = structuredClone(told) as unknown as Parameters<Validator['validate']>[0]
  expect(await new Validator().validate(specification)).toEqual({ valid: true })
  const parametersOf = (path: string) => told.paths[path]?.post?.parameters?.map(({ $ref }) => $ref?.split('/').at(-1))
  expect(parametersOf('/payments')).toEqual([expect.stringMatching(/^Idempotency-Key/), 'Repeatability-First-Sent'])
  expect(parametersOf('/sb/v1/withdraw')).toEqual([expect.stringMatching(/^Idempotency-Key/), 'Content-Digest'])
  expect(JSON.stringify(told.components.parameters)).toContain('8 different characters')

  const asDescribed = documented(told)
  expect([asDescribed.accepts('/payments', 'k'.repeat(15)), asDescribed.accepts('/rides', 'k'.repeat(15))]).toEqual([
    false,
    true,
  ])
  const payment = { customerId: 'cus_1', amountCents: 450, currency: 'USD' }
  for (const [path, body] of [
    ['/payments', payment],
    ['/payments', { ...payment, amountCents: -1 }],
    ['/sb/v1/withdraw', { amount: 5, currency: 'usd', customer: 'cus_1' }],
  ] as const) {
    const refused = await postJson(strict, path, body)
    expect(refused.status).toBe(400)
    asDescribed.check('POST', path, refused)
  }
  const html = await (await fetch(strict.url)).text()
  for (const setting of ['SANDBOX_KEYS=unguessable', 'SANDBOX_FIRST_SENT=required', 'SANDBOX_BANK_COMPARES=digest'])
    expect(html).toContain(`Started with <code>${setting}</code>`)
  expect(html).not.toContain('SANDBOX_KEY_OWNER')
})

function operations({ paths }: OpenApi) {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
  )
}

/** As they are registered, but for those that only say which methods a path knows. */
async function routesOfFastify(): Promise<string[]> {
  const env = { HAPAX_DATA_DIR: await emptyDirectory(), HAPAX_PROVIDERS_URL: 'http://127.0.0.1:9' }
  const opened = await openSandbox(settingsFrom(env))
  const app = webApp()
  const registered: RouteOptions[] = []
  app.addHook('onRoute', (route) => void registered.push(route))
  addRoutes(app, opened)
  await app.ready()
  await app.close()
  await closeSandbox(opened, [])
  // What operators use describes itself, at /admin/openapi.json.
  const ours = registered.filter(({ url }) => !url.startsWith('/admin'))
  const served = ours.filter(({ handler, onRequest }) => onRequest === undefined || handler !== onRequest)
  return served.flatMap(({ method, url }) =>
    // HEAD is what GET is.
    [method]
      .flat()
      .filter((one) => one !== 'HEAD')
      .map((one) => `${one} ${url.replaceAll(/:(\w+)(\([^)]*\))?/g, '{$1}')}`),
  )
}
