import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { paymentsOf } from './database.js'
import { expectUnavailable, onceCreated } from './expectations.js'
import { type Answer, acme, ask, exchange, pay } from './payment-client.js'
import { startSandbox } from './sandbox-process.js'
import { onEachDatabase, untilRunning } from './test-database.js'

onEachDatabase((fresh) => {
  test.concurrent('killed in the middle of a payment: the retry waits for the lease, runs, and creates exactly one', async () => {
    const database = await fresh()
    const killed = await database.start({ SANDBOX_DELAY_MS: '60000', SANDBOX_LEASE_SECONDS: '1' })
    const running = pay(killed, { key: 'k' }).catch(() => 'cut off')
    await untilRunning(database, 'k')
    await killed.stop('SIGKILL')
    expect(await running).toBe('cut off')
    expect(await database.paymentsOf()).toEqual([])

    const next = await database.start()
    const created = await onceCreated(next, 'k')
    expect(created.headers.get('idempotent-replayed')).toBeNull()
    expect((await pay(next, { key: 'k' })).text).toBe(created.text)
    expect(await database.paymentsOf()).toEqual([created.json.id])
    expect(await database.recordsOf('k')).toEqual([{ scope_id: 'acme', status: 'completed', attempt: 2 }])
  })

  test.concurrent('frozen past its lease: another process creates the payment, the late one only hands it on', async () => {
    const database = await fresh()
    const frozen = await database.start({ SANDBOX_DELAY_MS: '1500', SANDBOX_LEASE_SECONDS: '2' })
    const other = await database.start()
    const late = pay(frozen, { key: 'k' })
    await untilRunning(database, 'k')
    frozen.child.kill('SIGSTOP')
    const created = await onceCreated(other, 'k')
    expect(created.headers.get('idempotent-replayed')).toBeNull()
    frozen.child.kill('SIGCONT')
    const first = await late
    // One that was stopped for longer than it waits for its store says so, and hands it on to the retry.
    const { status, headers, text } = first.status === 503 ? await pay(frozen, { key: 'k' }) : first
    expect([status, headers.get('idempotent-replayed'), text]).toEqual([201, 'true', created.text])
    expect(await database.paymentsOf()).toEqual([created.json.id])
  })
})

test.concurrent('its files are deleted while it serves: 503, and no payment that is lost', async () => {
  const sandbox = await startSandbox()
  expect((await pay(sandbox)).status).toBe(201)
  await rm(sandbox.dataDir, { recursive: true })
  expectUnavailable(await pay(sandbox))
  expectUnavailable(await ask(sandbox, '/payments/pay_1', { headers: acme }))
})

test.concurrent('its database is moved away and back: 503 meanwhile, and it goes on without a restart', async () => {
  const sandbox = await startSandbox()
  const first = await pay(sandbox, { key: 'first' })
  const away = join(sandbox.dataDir, 'away')
  await rename(join(sandbox.dataDir, 'hapax.db'), away)
  expectUnavailable(await pay(sandbox, { key: 'second' }))
  await rename(away, join(sandbox.dataDir, 'hapax.db'))
  expect((await pay(sandbox, { key: 'first' })).text).toBe(first.text)
  const second = await pay(sandbox, { key: 'second' })
  expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(paymentsOf(sandbox.dataDir)).toHaveLength(2)
})

test.concurrent('the disk fills up: 503 and no payment; with room again, each key has exactly its one', async () => {
  const full = await startSandbox({ shell: 'ulimit -f 2000', env: { SANDBOX_LEASE_SECONDS: '1' } })
  const created = new Map<string, string>()
  let refused: Answer | undefined
  for (let number = 0; refused === undefined && number < 200; number++) {
    const answer = await pay(full, { key: `k${number}` })
    if (answer.status === 201) created.set(`k${number}`, answer.text)
    else refused = answer
  }
  expect(created.size).toBeGreaterThan(0)
  expectUnavailable(refused)
  await full.stop('SIGKILL')
  expect(paymentsOf(full.dataDir)).toHaveLength(created.size)

  const roomy = await startSandbox({ dataDir: full.dataDir })
  for (const [key, text] of created) expect((await pay(roomy, { key })).text).toBe(text)
  await onceCreated(roomy, `k${created.size}`)
  expect(paymentsOf(full.dataDir)).toHaveLength(created.size + 1)
})

test.concurrent('clients that send rubbish or leave in the middle stop nothing', async () => {
  const sandbox = await startSandbox()
  expect(await exchange(sandbox, '\x16\x03\x01\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /)
  const leave = new AbortController()
  const neverEnding = new ReadableStream({ pull: () => leave.abort() })
  const headers = { ...acme, 'content-type': 'application/json', 'idempotency-key': 'k' }
  const init = { method: 'POST', headers, body: neverEnding, duplex: 'half', signal: leave.signal } as const
  await expect(fetch(`${sandbox.url}/payments`, init)).rejects.toThrow()
  expect((await pay(sandbox)).status).toBe(201)
  expect(sandbox.printed.stderr).toMatch(/^database: .*\nproviders: none.*\n$/)
})

test.concurrent('whatever goes wrong, no key, no token and nothing of a body is printed', async () => {
  const sandbox = await startSandbox()
  const key = 'order-of-jane-doe'
  const body = { customerId: 'cus_jane', amountCents: 450, currency: 'USD' }
  expect((await pay(sandbox, { key, body })).status).toBe(201)
  expect((await pay(sandbox, { key, body: { ...body, amountCents: 451 } })).status).toBe(422)
  expect((await pay(sandbox, { key: `${key} ,`, body })).status).toBe(400)
  await rm(sandbox.dataDir, { recursive: true })
  expectUnavailable(await pay(sandbox, { key, body }))
  expectUnavailable(await ask(sandbox, '/payments/pay_jane', { headers: acme }))
  expect(sandbox.printed.stderr.trimEnd().split('\n').length).toBeGreaterThan(2)
  expect(sandbox.printed.stdout + sandbox.printed.stderr).not.toMatch(/jane|ohk_test/)
})
