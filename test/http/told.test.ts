import { engine, type LogEntry, type Store } from 'hapax'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.js'

/** Who is told what: the client what to do, the log what went wrong, the application of its own errors. */

const key = 'the-key-of-a-client-0001'

function stage(store: Store = memoryStore()) {
  const logged: LogEntry[] = []
  const hapax = engine({ store, log: (entry) => logged.push(entry) })
  const request = (headers: Record<string, string> = { 'idempotency-key': key }) =>
    new Request('http://localhost/payments', { method: 'POST', headers, body: '{}' })
  return { hapax, logged, request }
}

const options = { name: 'payments.create', scope: () => 'acme' }
const answered = async () => Response.json({ id: 1 }, { status: 201 })

test('what a store said when it failed is logged, and neither the client nor the log is told the key', async () => {
  const faults = faultyStore(memoryStore())
  faults.breakAt('reserve', 'before')
  const { hapax, logged, request } = stage(faults.store)
  const response = await guard(hapax, options, answered)(request())
  expect(response.status).toBe(503)
  expect(await response.text()).not.toContain('refused')
  expect(logged).toMatchObject([
    { level: 'warn', code: 'store_failed' },
    { level: 'error', code: 'idempotency_store_unavailable' },
  ])
  for (const { message } of logged) expect(message).toContain('the connection was refused')
  expect(JSON.stringify(logged)).not.toContain(key)
})

test('a bug of the developer is a 500 whose reason is in the log', async () => {
  const { hapax, logged, request } = stage()
  const response = await guard(hapax, { ...options, scope: () => '' }, answered)(request())
  expect(response.status).toBe(500)
  expect(logged).toMatchObject([{ code: 'scope_missing' }])
})

test('what is refused through the fault of a client is not logged', async () => {
  const { hapax, logged, request } = stage()
  expect((await guard(hapax, options, answered)(request({}))).status).toBe(400)
  expect(logged).toEqual([])
})

test('an error that is stored as an answer is logged, since nobody else hears of it', async () => {
  const { hapax, logged, request } = stage()
  const failing = async (): Promise<Response> => {
    throw new Error('the gateway is closed')
  }
  const response = await guard(hapax, { ...options, onError: 'store' }, failing)(request())
  expect(response.status).toBe(500)
  expect(await response.text()).not.toContain('gateway')
  expect(logged).toMatchObject([{ code: 'handler_failed', message: expect.stringContaining('the gateway is closed') }])
})

test('an error of a guarded call inside of the handler is the application’s, and no complaint about this key', async () => {
  const { hapax, request } = stage()
  const policy = hapax.policy({ name: 'inner' })
  const inner = (input: number) => hapax.run({ scope: 'acme', key: 'inner', input, policy }, async () => input)
  await inner(1)
  const guarded = guard(hapax, options, async () => Response.json(await inner(2)))
  await expect(guarded(request())).rejects.toMatchObject({ code: 'idempotency_key_reused_with_different_payload' })
})

test('a request without a key, where none is needed, is told nothing about one and takes no place in a quota', async () => {
  const logged: LogEntry[] = []
  const hapax = engine({ store: memoryStore(), quotas: { activeKeys: 1 }, log: (entry) => logged.push(entry) })
  const guarded = guard(hapax, { ...options, key: 'optional' }, answered)
  for (let time = 0; time < 3; time++) {
    const { status, headers } = await guarded(new Request('http://localhost/payments', { method: 'POST', body: '{}' }))
    expect([status, headers.get('idempotency-key-expires')]).toEqual([201, null])
  }
})
