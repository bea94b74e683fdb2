import { type Engine, engine, type Policy } from 'hapax'
import type { Database, Transaction } from './database.js'
import { postgresDatabase } from './postgres-database.js'
import type { DatabaseSettings, Settings } from './settings.js'
import { sqliteDatabase } from './sqlite-database.js'

/** What every request is given. */
export interface Sandbox {
  readonly hapax: Engine<Transaction>
  readonly policy: Policy<'reject'>
  readonly database: Database
  readonly delayMs: number
}

/** Opens the database and creates what is missing. */
export async function openSandbox({ database: where, delayMs, lease }: Settings): Promise<Sandbox> {
  const database = await openDatabase(where)
  const hapax = engine({ store: database.store })
  // The only effect of a payment is one transaction of this database. A crash rolls it back, so that a retry may
  // simply run.
  const policy = hapax.policy({ name: 'payments.create', retention: '24h', lease, onCrash: 'retry' })
  await hapax.open()
  return { hapax, policy, database, delayMs }
}

/** Lets what is guarded finish within the engine's bound. */
export async function closeSandbox({ hapax, database }: Sandbox): Promise<void> {
  await hapax.close()
  await database.end()
}

function openDatabase(where: DatabaseSettings): Promise<Database> {
  switch (where.kind) {
    case 'sqlite':
      return sqliteDatabase(where.dataDir)
    case 'postgres':
      return postgresDatabase(where.url)
  }
}
