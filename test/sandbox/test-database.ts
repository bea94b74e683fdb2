import { join } from 'node:path'
import type { Store } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, vi } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { type Customer, paymentsOf, type Row, recordsOf } from './database.js'
import { postgresTestDatabase } from './postgres-test-database.js'
import { emptyDirectory, type SandboxProcess, startSandbox } from './sandbox-process.js'

/** An empty database for sandboxes to share, and what lies in it. Read without Hapax, which is not believed here. */
export interface TestDatabase {
  /** Starts a sandbox on it. */
  start(env?: Record<string, string>): Promise<SandboxProcess>
  /** The ids of a customer's payments. */
  paymentsOf(payment?: Customer): Promise<unknown[]>
  /** What is kept of a key. */
  recordsOf(key: string): Promise<Row[]>
  /** A store on it that belongs to no sandbox, for as long as `use` takes. */
  withStore(use: <Tx>(store: Store<Tx>) => Promise<void>): Promise<void>
}

/** Declares the same tests once for each database that the sandbox runs on. */
export function onEachDatabase(declare: (fresh: () => Promise<TestDatabase>) => void): void {
  describe('on SQLite', () => declare(sqliteTestDatabase))
  onPostgres('on PostgreSQL', () => declare(postgresTestDatabase))
}

/** Resolves once a payment with this key runs. Looking here, nobody competes with it for the key. */
export async function untilRunning(database: Pick<TestDatabase, 'recordsOf'>, key: string): Promise<void> {
  const look = async () => expect(await database.recordsOf(key)).toMatchObject([{ status: 'in_progress' }])
  await vi.waitFor(look, { timeout: 5_000, interval: 20 })
}

async function sqliteTestDatabase(): Promise<TestDatabase> {
  const dataDir = await emptyDirectory()
  return {
    start: (env = {}) => startSandbox({ dataDir, env }),
    paymentsOf: async (payment) => paymentsOf(dataDir, payment),
    recordsOf: async (key) => recordsOf(dataDir, key),
    async withStore(use) {
      const store = sqliteStore({ path: join(dataDir, 'hapax.db') })
      await use(store).finally(() => store.close())
    },
  }
}
