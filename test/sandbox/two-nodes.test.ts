import { expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { textAt } from '../support/postgres-messages.js'
import { pinnedClock } from '../support/postgres-schema.js'
import { type PostgresWire, postgresWire } from '../support/postgres-wire.js'
import { gate } from '../support/waiting.js'
import { onceCreated } from './expectations.js'
import { acme, ask, coffee, globex, pay, tea } from './payment-client.js'
import { type PostgresTestDatabase, postgresTestDatabase, select } from './postgres-test-database.js'
import { atEnd, startSandbox } from './sandbox-process.js'
import { untilRunning } from './test-database.js'

/** Two sandboxes on one database are one service, whichever of them is asked and whichever of them dies. */
onPostgres('two nodes on PostgreSQL', () => {
  test.concurrent('a payment of one node is replayed, refused and shown by the other as by itself', async () => {
    const [, a, b] = await twoNodes()
    const created = await pay(a, { key: 'k' })
    expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null])
    for (const node of [b, a]) {
      const again = await pay(node, { key: 'k' })
      expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([201, 'true', created.text])
      expect(again.headers.get('location')).toBe(created.headers.get('location'))
      const other = await pay(node, { key: 'k', body: { ...coffee, amountCents: 451 } })
      expect(other).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused_with_different_payload' } })
      const path = `/payments/${created.json.id}`
      expect(await ask(node, path, { headers: acme })).toMatchObject({ status: 200, text: created.text })
      expect((await ask(node, path, { headers: globex })).status).toBe(404)
    }
  })

  test.concurrent('while a payment runs on one node the other answers 409, then with what the first created', async () => {
    const [database, a, b] = await twoNodes({ SANDBOX_DELAY_MS: '2500' })
    const running = pay(a, { key: 'k' })
    await untilRunning(database, 'k')
    const waiting = await pay(b, { key: 'k' })
    expect(waiting).toMatchObject({ status: 409, json: { code: 'idempotency_key_in_progress' } })
    expect(waiting.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    const created = await running
    expect((await onceCreated(b, 'k')).text).toBe(created.text)
    expect(await database.paymentsOf()).toEqual([created.json.id])
  })

  test.concurrent('killed in the middle of a payment: the other node answers 409 until the lease is over, then creates it', async () => {
    const [database, a, b] = await twoNodes({ SANDBOX_DELAY_MS: '60000', SANDBOX_LEASE_SECONDS: '1' })
    const running = pay(a, { key: 'k' }).catch(() => 'cut off')
    await untilRunning(database, 'k')
    await a.stop('SIGKILL')
    expect(await running).toBe('cut off')

    const leaseUntil = await endOfLease(database)
    await pinClock(database, leaseUntil - 1)
    for (let retry = 0; retry < 3; retry++) expect((await pay(b, { key: 'k' })).status).toBe(409)
    expect(await database.paymentsOf()).toEqual([])
    await pinClock(database, leaseUntil)
    const created = await pay(b, { key: 'k' })
    expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect((await pay(b, { key: 'k' })).text).toBe(created.text)
    expect(await database.paymentsOf()).toEqual([created.json.id])
    expect(await database.recordsOf('k')).toEqual([{ scope_id: 'acme', status: 'completed', attempt: 2 }])
  })

  test.concurrent('killed when its payment was committed and it did not know yet: the other node replays it', async () => {
    const database = await postgresTestDatabase()
    const wire = await postgresWire(database.url)
    atEnd(() => wire.close())
    const a = await startSandbox({ env: { DATABASE_URL: wire.url } })
    const b = await database.start()
    const committed = answeredToNobody(wire, 'COMMIT')
    const unanswered = pay(a, { key: 'k' }).catch(() => 'cut off')
    await committed
    await a.stop('SIGKILL')
    expect(await unanswered).toBe('cut off')

    const [id] = await database.paymentsOf()
    const again = await pay(b, { key: 'k' })
    expect([again.status, again.headers.get('idempotent-replayed'), again.json.id]).toEqual([201, 'true', id])
    expect(await database.paymentsOf()).toEqual([id])
  })

  test.concurrent('killed when its payment was written and not committed: there is none, until the other node creates it', async () => {
    const database = await postgresTestDatabase()
    const wire = await postgresWire(database.url)
    atEnd(() => wire.close())
    const a = await startSandbox({ env: { DATABASE_URL: wire.url, SANDBOX_LEASE_SECONDS: '1' } })
    const b = await database.start()
    const [written, killed] = [gate(), gate()]
    wire.rule(async ({ word }) => {
      if (word !== 'COMMIT') return 'pass'
      written.open()
      await killed.opened
      return 'cut before'
    })
    const running = pay(a, { key: 'k' }).catch(() => 'cut off')
    await written.opened
    await a.stop('SIGKILL')
    killed.open()
    expect(await running).toBe('cut off')

    expect(await database.paymentsOf()).toEqual([])
    const created = await onceCreated(b, 'k')
    expect(created.headers.get('idempotent-replayed')).toBeNull()
    expect(await database.paymentsOf()).toEqual([created.json.id])
  })

  test.concurrent('of twenty that come to both at once one creates a payment; the others get it, or are told to wait', async () => {
    const [database, a, b] = await twoNodes()
    for (let round = 0; round < 5; round++) {
      const attempt = { key: `k${round}`, body: tea() }
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => pay(index % 2 ? a : b, attempt)))
      expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([])
      const created = answers.filter(({ status }) => status === 201)
      expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
      expect(new Set(created.map(({ text }) => text)).size).toBe(1)
      expect(await database.paymentsOf(attempt.body)).toEqual([created[0]?.json.id])
    }
  })

  test.concurrent('many nodes that start at once on an empty database all start', async () => {
    const database = await postgresTestDatabase()
    const nodes = await Promise.all(Array.from({ length: 4 }, () => database.start()))
    const answers = await Promise.all(nodes.map((node) => pay(node)))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201])
  })
})

/** The first takes the environment that is given; the second delays nothing. */
async function twoNodes(env: Record<string, string> = {}) {
  const database = await postgresTestDatabase()
  return [database, await database.start(env), await database.start()] as const
}

/** Of the only record, in milliseconds. */
async function endOfLease({ url }: PostgresTestDatabase): Promise<number> {
  const [record] = await select(url, 'SELECT extract(epoch FROM locked_until) * 1000 AS ms FROM hapax.records')
  return Number(record?.ms)
}

/** Every node on this database judges leases by this time, until it is pinned anew. */
async function pinClock({ url }: PostgresTestDatabase, at: number): Promise<void> {
  await select(url, pinnedClock('hapax', at))
}

/** From now on no client hears that this statement is done. Resolves when the first one is. */
function answeredToNobody(wire: PostgresWire, word: string): Promise<void> {
  const done = gate()
  wire.rule((statement) => (statement.word === word ? 'keep answer' : 'pass'))
  wire.listen(({ from, type, body }) => {
    if (from === 'server' && type === 'C' && textAt(body, 0) === word) done.open()
  })
  return done.opened
}
