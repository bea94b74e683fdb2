import { expect, test, vi } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { expectUnavailable, onceCreated } from './expectations.js'
import { ownServer } from './own-server.js'
import { acme, ask, pay } from './payment-client.js'
import { onServer, postgresDatabaseAt, postgresTestDatabase } from './postgres-test-database.js'
import type { SandboxProcess } from './sandbox-process.js'
import { untilRunning } from './test-database.js'

onPostgres('outages of PostgreSQL', () => {
  test.concurrent('all its connections are closed: it makes new ones and goes on', async () => {
    const database = await postgresTestDatabase()
    const sandbox = await database.start()
    const first = await pay(sandbox, { key: 'first' })
    await disconnectAll(database.name)
    expect((await onceCreated(sandbox, 'first')).text).toBe(first.text)
    await onceCreated(sandbox, 'second')
    expect(await database.paymentsOf()).toHaveLength(2)
  })

  test.concurrent('its connection is closed in the middle of a payment: exactly one is created in the end', async () => {
    const database = await postgresTestDatabase()
    const sandbox = await database.start({ SANDBOX_DELAY_MS: '500', SANDBOX_LEASE_SECONDS: '1' })
    const running = pay(sandbox, { key: 'k' })
    await untilRunning(database, 'k')
    await disconnectAll(database.name)
    const { status } = await running
    expect([201, 503]).toContain(status)
    const created = await onceCreated(sandbox, 'k')
    expect(await database.paymentsOf()).toEqual([created.json.id])
  })

  test.concurrent('its database is moved away and back: 503 meanwhile, and it goes on without a restart', async () => {
    const database = await postgresTestDatabase()
    const sandbox = await database.start()
    const first = await pay(sandbox, { key: 'first' })
    await rename(database.name, `${database.name}_away`)
    expectUnavailable(await pay(sandbox, { key: 'second' }))
    expectUnavailable(await pay(sandbox, { key: 'first' }))
    expectUnavailable(await ask(sandbox, `/payments/${first.json.id}`, { headers: acme }))
    await rename(`${database.name}_away`, database.name)
    expect((await pay(sandbox, { key: 'first' })).text).toBe(first.text)
    const second = await pay(sandbox, { key: 'second' })
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect((await ask(sandbox, `/payments/${first.json.id}`, { headers: acme })).text).toBe(first.text)
    expect(await database.paymentsOf()).toHaveLength(2)
  })

  test.concurrent('the server stops under a running payment and starts again: 503 meanwhile, and each key has its one', async () => {
    const server = await ownServer()
    await server.start()
    const database = postgresDatabaseAt(server.url)
    const nodes = [
      await database.start({ SANDBOX_DELAY_MS: '2000', SANDBOX_LEASE_SECONDS: '1' }),
      await database.start(),
    ]
    const [slow, quick] = nodes as [SandboxProcess, SandboxProcess]
    const first = await pay(quick, { key: 'first' })
    const cut = pay(slow, { key: 'cut' })
    await untilRunning(database, 'cut')
    await server.stop()
    expectUnavailable(await pay(quick, { key: 'second' }))
    expectUnavailable(await ask(quick, `/payments/${first.json.id}`, { headers: acme }))
    expectUnavailable(await cut)

    await server.start()
    for (const node of nodes) expect((await onceCreated(node, 'first')).text).toBe(first.text)
    const ids = [first.json.id]
    for (const key of ['second', 'cut']) ids.push((await onceCreated(quick, key)).json.id)
    expect(new Set(await database.paymentsOf())).toEqual(new Set(ids))
    expect(await database.paymentsOf()).toHaveLength(3)
  })

  test.concurrent('it stops well while its database is gone', async () => {
    const database = await postgresTestDatabase()
    const sandbox = await database.start()
    await pay(sandbox)
    await rename(database.name, `${database.name}_away`)
    expect(await sandbox.stop('SIGTERM')).toBe(0)
    await rename(`${database.name}_away`, database.name)
  })

  test.concurrent('when it has stopped, none of its connections is left', async () => {
    const database = await postgresTestDatabase()
    const sandbox = await database.start()
    await Promise.all(Array.from({ length: 10 }, () => pay(sandbox)))
    expect(await connections(database.name)).not.toEqual([])
    expect(await sandbox.stop('SIGTERM')).toBe(0)
    await vi.waitFor(async () => expect(await connections(database.name)).toEqual([]), { timeout: 5_000 })
  })
})

function connections(database: string) {
  return onServer(`SELECT pid FROM pg_stat_activity WHERE datname = '${database}'`)
}

function disconnectAll(database: string) {
  return onServer(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`)
}

/** A database can be renamed when nobody is connected, so whoever comes in between is sent away again. */
function rename(from: string, to: string): Promise<void> {
  const attempt = async () => {
    await disconnectAll(from)
    await onServer(`ALTER DATABASE ${from} RENAME TO ${to}`)
  }
  return vi.waitFor(attempt, { timeout: 5_000, interval: 20 })
}
