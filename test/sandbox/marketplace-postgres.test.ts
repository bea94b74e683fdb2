import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import {
  balanceOf,
  buyer,
  centsOf,
  disputedOrder,
  escrowCalls,
  expectBalanced,
  get,
  order,
  orderAfter,
  payments,
  post,
  seller,
  topup,
  untilStatus,
  withdrawal,
} from './marketplace-client.js'
import { type PostgresTestDatabase, postgresTestDatabase, select } from './postgres-test-database.js'
import { until } from './providers-process.js'
import { emptyDirectory, type SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** The marketplace on PostgreSQL, with two nodes that share one database and one outside world. */

onPostgres('two nodes of the marketplace', () => {
  let database: PostgresTestDatabase
  let nodes: readonly [SandboxProcess, SandboxProcess]
  beforeAll(async () => {
    database = await postgresTestDatabase()
    const settings = { dataDir: await emptyDirectory(), env: { DATABASE_URL: database.url } }
    nodes = [await startSupervised(settings), await startSupervised(settings)]
  }, 30_000)
  afterEach(() => expectBalanced(nodes[0]))

  /** Twelve at once, half of them to each node, each with a key of its own unless one is given. */
  function atOnce(path: string, sent: { readonly body?: object; readonly key?: string } = {}) {
    const answers = Array.from({ length: 12 }, (_, turn) => post(nodes[turn % 2 === 0 ? 0 : 1], path, sent))
    return Promise.all(answers)
  }

  test('have four users between them, with their money, once', async () => {
    const rows = await select(database.url, 'SELECT count(*)::int AS count FROM sandbox.users')
    expect(rows).toEqual([{ count: 4 }])
    expect(await balanceOf(nodes[1], 'usr_globex_dan')).toBe('10000.00')
  })

  test('take an order through all its steps, each of them once, whichever of them is asked', async () => {
    const body = { ...order, client_order_ref: randomUUID() }
    const created = await atOnce('/orders', { body })
    expect(created.filter(({ status }) => status === 201)).toHaveLength(1)
    const ids = new Set(created.map(({ json }) => String(json.id)))
    expect(ids.size).toBe(1)
    const [id = ''] = ids
    const before = [await centsOf(nodes[0], buyer), await centsOf(nodes[0], seller)]
    for (const step of ['reserve', 'escrow', 'escrow/fund', 'release']) {
      for (const { status } of await atOnce(`/orders/${id}/${step}`)) expect([step, status < 300]).toEqual([step, true])
      await expectBalanced(nodes[1])
      expect([step, (await post(nodes[1], `/orders/${id}/${step}`)).status]).toEqual([step, 200])
    }
    expect((await get(nodes[1], `/orders/${id}`)).json.status).toBe('RELEASED')
    expect(await escrowCalls(nodes[0], id)).toEqual({ create: 1, fund: 1, release: 1 })
    const after = [await centsOf(nodes[0], buyer), await centsOf(nodes[0], seller)]
    expect(after).toEqual([(before[0] ?? 0) - 10_000, (before[1] ?? 0) + 10_000])
  })

  test('run one key once between them, and give everybody the one answer', async () => {
    const id = await orderAfter(nodes[0], 'escrow')
    const key = randomUUID()
    const answers = await atOnce(`/orders/${id}/escrow/fund`, { key })
    for (const { status, json } of answers.filter(({ status }) => status !== 200))
      expect([status, json.error]).toMatchObject([409, { code: 'IDEMPOTENCY_KEY_IN_PROGRESS' }])
    const { text } = await post(nodes[1], `/orders/${id}/escrow/fund`, { key })
    for (const answer of answers.filter(({ status }) => status === 200)) expect(answer.text).toBe(text)
    expect(await escrowCalls(nodes[0], id)).toEqual({ create: 1, fund: 1 })
  })

  test('resolve a dispute once', async () => {
    const { orderId, disputeId } = await disputedOrder(nodes[0])
    const answers = await atOnce(`/disputes/${disputeId}/resolve`, { body: { decision: 'refund' } })
    for (const { status } of answers) expect(status).toBe(200)
    const resolved = { status: 'RESOLVED', resolution: { decision: 'refund' } }
    expect((await get(nodes[1], `/disputes/${disputeId}`)).json).toMatchObject(resolved)
    expect((await get(nodes[1], `/orders/${orderId}`)).json.status).toBe('REFUNDED')
    expect(await escrowCalls(nodes[0], orderId)).toEqual({ create: 1, fund: 1, dispute: 1, resolve: 1 })
  })

  test('credit a top-up once, by a webhook or by refreshing, and send a withdrawal once', async () => {
    const before = await centsOf(nodes[0], buyer)
    const { id } = (await post(nodes[0], '/topups', { body: topup })).json
    for (const { status } of await atOnce(`/topups/${id}/refresh`)) expect(status).toBe(200)
    await untilStatus(nodes[1], `/topups/${id}`, 'CONFIRMED')
    expect((await centsOf(nodes[1], buyer)) - before).toBe(2_500)

    const out = (await post(nodes[1], '/withdrawals', { body: withdrawal })).json.id
    await atOnce(`/withdrawals/${out}/commit`)
    for (const { status } of await atOnce(`/withdrawals/${out}/refresh`)) expect(status).toBe(200)
    await until(async () => expect((await get(nodes[0], `/withdrawals/${out}`)).json.status).toBe('COMPLETED'))
    expect(await payments(nodes[0], out)).toHaveLength(1)
    expect((await centsOf(nodes[1], buyer)) - before).toBe(1_500)
  })

  test('spend no more than there is', async () => {
    const body = { ...withdrawal, user_id: seller, amount: '4000.00' }
    const has = await centsOf(nodes[0], seller)
    const taken = (await atOnce('/withdrawals', { body })).filter(({ status }) => status === 201)
    expect(taken).toHaveLength(Math.floor(has / 400_000))
    expect(await centsOf(nodes[0], seller)).toBe(has % 400_000)
  })

  test('have balances that are the sums of their entries', async () => {
    // An account without entries, and an entry without its account, are as wrong as a sum that does not agree.
    const accounts = await select(
      database.url,
      `SELECT a.tenant, a.id, a.currency, a.balance, sum(e.amount) AS entered
       FROM sandbox.accounts a
       FULL JOIN (sandbox.entries e JOIN sandbox.transfers t ON t.id = e.transfer_id)
         ON t.tenant = a.tenant AND e.account_id = a.id AND e.currency = a.currency
       GROUP BY a.tenant, a.id, a.currency, a.balance`,
    )
    expect(accounts.length).toBeGreaterThan(6)
    for (const account of accounts) {
      expect(Object.values(account)).not.toContain(null)
      expect(account).toEqual({ ...account, entered: account.balance })
    }
    const entries =
      'SELECT 1 FROM sandbox.entries e LEFT JOIN sandbox.transfers t ON t.id = e.transfer_id WHERE t.id IS NULL'
    expect(await select(database.url, entries)).toEqual([])
  })
})
