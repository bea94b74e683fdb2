import { type Engine, engine } from 'hapax'
import type { Database, Transaction } from './database/database.js'
import { postgresDatabase } from './database/postgres-database.js'
import { sqliteDatabase } from './database/sqlite-database.js'
import { seedUsers } from './money/users.js'
import type { DatabaseSettings, Settings } from './settings.js'

/** What the routes are given. */
export interface Sandbox extends Pick<Settings, 'delayMs' | 'lease' | 'providersUrl' | 'webhookSecrets'> {
  readonly hapax: Engine<Transaction>
  readonly database: Database
}

/** Opens the database and creates what is missing. */
export async function openSandbox({ database: where, ...rest }: Settings): Promise<Sandbox> {
  const database = await openDatabase(where)
  const hapax = engine({ store: database.store })
  // Whoever asked is told to retry; why, is for us.
  hapax.on('store_failed', ({ step, errorCode }) => console.error(`${errorCode}: the database failed to ${step}`))
  await hapax.open()
  await seedUsers(hapax, database)
  return { hapax, database, ...rest }
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
