import { randomUUID } from 'node:crypto'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { serverUrl } from '../support/on-postgres.js'
import { poolOn } from '../support/postgres-pool.js'
import type { Row } from './database.js'
import { coffee } from './payment-client.js'
import { atEnd, startSandbox } from './sandbox-process.js'
import type { TestDatabase } from './test-database.js'

export interface PostgresTestDatabase extends TestDatabase {
  readonly name: string
  readonly url: string
}

/** A database of its own on the server of the tests. It goes when the test file is done. */
export async function postgresTestDatabase(): Promise<PostgresTestDatabase> {
  const name = `sandbox_${randomUUID().replaceAll('-', '')}`
  // Nobody is ever connected to this template, so that any number of test files may copy it at once.
  await onServer(`CREATE DATABASE ${name} TEMPLATE template0`)
  atEnd(async () => void (await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)))
  return postgresDatabaseAt(urlOf(name))
}

/** What lies in a database, whoever made it. */
export function postgresDatabaseAt(url: string): PostgresTestDatabase {
  return {
    name: new URL(url).pathname.slice(1),
    url,
    start: (env = {}) => startSandbox({ env: { DATABASE_URL: url, ...env } }),
    async paymentsOf({ customerId } = coffee) {
      const rows = await select(url, 'SELECT id FROM sandbox.payments WHERE customer_id = $1', [customerId])
      return rows.map((row) => row.id)
    },
    recordsOf: (key) =>
      select(url, 'SELECT scope_id, status, attempt::int FROM hapax.records WHERE idempotency_key = $1', [key]),
    async withStore(use) {
      const pool = poolOn(url)
      await use(postgresStore({ pool })).finally(() => pool.end())
    },
  }
}

export function onServer(sql: string): Promise<Row[]> {
  return select(serverUrl ?? '', sql)
}

export async function select(connectionString: string, sql: string, values: readonly unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

function urlOf(database: string): string {
  const url = new URL(serverUrl ?? '')
  url.pathname = `/${database}`
  return url.href
}
