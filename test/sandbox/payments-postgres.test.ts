import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import {
  createPaymentsTable,
  findPayment,
  insertPayment,
  type Payment,
  type PaymentTables,
  paymentOf,
} from '../../examples/sandbox/src/payments/payments.js'
import { onPostgres } from '../support/on-postgres.js'

const payment: Payment = {
  id: 'pay_1',
  tenant: 'acme',
  customerId: 'cus_1',
  amountCents: 99_999_999_999,
  currency: 'KRW',
  metadata: { z: 'last first', a: '\0', emoji: '🦜' },
  status: 'created',
  createdAt: '2026-01-02T03:04:05.678Z',
}

onPostgres('payments', (url) => {
  test('the queries that serve SQLite serve PostgreSQL too, down to the largest amount', async () => {
    const client = await connected(url)
    const db = postgresQueries()
    await client.query(createPaymentsTable(db).sql)
    await client.query(createPaymentsTable(db).sql)
    const insert = insertPayment(db, payment)
    await client.query(insert.sql, [...insert.parameters])
    expect(await found(client, 'acme')).toEqual([payment])
    expect(await found(client, 'globex')).toEqual([])

    async function found(client: pg.Client, tenant: string): Promise<Payment[]> {
      const find = findPayment(db, tenant, payment.id)
      return (await client.query(find.sql, [...find.parameters])).rows.map(paymentOf)
    }
  })
})

/** A schema of its own, so that tests on one server do not meet. */
async function connected(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const schema = `sandbox_${process.pid}`
  onTestFinished(async () => {
    await client.query(`drop schema ${schema} cascade`)
    await client.end()
  })
  await client.query(`create schema ${schema}`)
  await client.query(`set search_path to ${schema}`)
  return client
}

function postgresQueries(): Kysely<PaymentTables> {
  return new Kysely({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
}
