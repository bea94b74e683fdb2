import { type Engine, engine, startWorkers, type Workers } from 'hapax'
import { type Telemetry, telemetry } from 'hapax/telemetry'
import type { Database, Transaction } from './database/database.js'
import { postgresDatabase } from './database/postgres-database.js'
import { sqliteDatabase } from './database/sqlite-database.js'
import { seedUsers } from './money/users.js'
import { outboxOf } from './outbox.js'
import { type Partners, partnersAt } from './partners/partners.js'
import { patienceOf } from './partners/patience.js'
import { quickEngine } from './redis/quick-engine.js'
import { redisAt } from './redis/redis.js'
import { sharedIn } from './redis/shared-replays.js'
import type { DatabaseSettings, Settings } from './settings.js'

/** What the routes are given. */
export interface Sandbox extends Omit<Settings, 'port' | 'host' | 'database' | 'quotas'> {
  readonly hapax: Engine<Transaction>
  /** What guards the routes whose keys may be forgotten; `undefined` where none may. */
  readonly quick: Engine<never> | undefined
  readonly database: Database
  /** What watches over the engine. */
  readonly telemetry: Telemetry
  /** `undefined` where there are no providers: then payments are only recorded, and nothing else is done. */
  readonly partners: Partners | undefined
}

/** Opens the database and creates what is missing. */
export async function openSandbox({ database: where, ...rest }: Settings): Promise<Sandbox> {
  const database = await openDatabase(where)
  const partners = rest.providersUrl === undefined ? undefined : partnersAt(rest.providersUrl, rest)
  const outbox = partners === undefined ? {} : { effects: outboxOf(database, partners, rest) }
  const { newKeysPerSecond, activeKeys } = rest.quotas
  const quotas = { newKeys: { most: newKeysPerSecond, per: '1s' }, activeKeys } as const
  const redis = redisAt(rest.redis)
  const replayCache = sharedIn(redis, rest.replayCache)
  const hapax = engine({ store: database.store, quotas, replayCache, ...outbox })
  // Whoever asked is told to retry; why, is for us.
  hapax.on('store_failed', ({ step, errorCode }) => console.error(`${errorCode}: the database failed to ${step}`))
  const watch = telemetry({ hapax, every: '2s' })
  await hapax.open()
  const quick = await quickEngine(redis, quotas)
  await seedUsers(database)
  const held = { ...database, end: () => Promise.all([database.end(), redis?.end()]).then(() => {}) }
  return { hapax, quick, database: held, telemetry: watch, partners, ...rest }
}

/**
 * Starts what finishes requests that nobody comes back for, once every operation is known. Where nobody is asked for
 * anything there is nothing that could be left half-done.
 */
export function startSandboxWorkers(sandbox: Sandbox): readonly Workers[] {
  const { hapax, quick, partners } = sandbox
  if (partners === undefined) return []
  const usual = startWorkers({ hapax, effects: { lease: patienceOf(sandbox).lease } })
  return quick === undefined ? [usual] : [usual, startWorkers({ hapax: quick })]
}

/** Lets what runs in the background and what is guarded finish, within the bounds of both. */
export async function closeSandbox(
  { hapax, quick, database, telemetry }: Sandbox,
  workers: readonly Workers[],
): Promise<void> {
  await Promise.all(workers.map((each) => each.stop()))
  await telemetry.stop()
  await Promise.all([hapax.close(), quick?.close()])
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
