import { join } from 'node:path'
import Database from 'libsql'
import { coffee } from './payment-client.js'

/** What lies in the database of a sandbox, whether it runs or not. Read without Hapax, which is not believed here. */

export type Customer = Pick<typeof coffee, 'customerId'>

/** The ids of a customer's payments. */
export function paymentsOf(dataDir: string, { customerId }: Customer = coffee): unknown[] {
  const rows = select(dataDir, 'SELECT id FROM payments WHERE customer_id = ?', customerId)
  return rows.map((row) => row.id)
}

/** What is kept of a key. */
export function recordsOf(dataDir: string, key: string): Row[] {
  return select(dataDir, 'SELECT scope_id, status, attempt FROM hapax_records WHERE idempotency_key = ?', key)
}

export type Row = Readonly<Record<string, unknown>>

function select(dataDir: string, sql: string, parameter: string): Row[] {
  const database = new Database(join(dataDir, 'hapax.db'), { timeout: 2_000 })
  try {
    return database.prepare(sql).all([parameter]) as Row[]
  } finally {
    database.close()
  }
}
