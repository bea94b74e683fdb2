import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Engine,
  type EventName,
  type Events,
  engine,
  eventNames,
  type LogEntry,
  type Policy,
  type PolicyOptions,
} from 'hapax'
import { type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { onTestFinished } from 'vitest'
import { pinSqliteClock } from '../../../dist/stores/sqlite/testing.js'
import { change } from './requests-database.js'

/** An application of our own on a real SQLite file, for what the sandbox has no knob for. */
export interface Shop {
  readonly path: string
  readonly store: SqliteStore
  readonly hapax: Engine<SqliteTransaction>
  readonly heard: Heard[]
  readonly logged: LogEntry[]
  /** Every charge that left for the payment provider. */
  readonly charges: string[]
  /** Charges without anything that could take it back. */
  charge(what: string): Promise<{ readonly charge: string }>
  policy(options?: Partial<Omit<PolicyOptions, 'concurrency'>>): Policy<'reject'>
  /** Sets the store's clock. */
  at(ms: number): Promise<void>
  /** Takes the database away for real while `use` runs. */
  withoutDatabase<T>(use: () => Promise<T>): Promise<T>
}

export interface Heard {
  readonly name: EventName
  readonly event: Events[EventName]
}

export const hour = 3_600_000
export const day = 24 * hour
/** Some instant that is far from the one on the wall. */
export const noon = 1_600_000_000_000

export async function openShop(): Promise<Shop> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-acceptance-'))
  const path = join(directory, 'shop.db')
  const store = sqliteStore({ path })
  const logged: LogEntry[] = []
  const hapax = engine({ store, log: (entry) => logged.push(entry) })
  onTestFinished(async () => {
    await hapax.close()
    await rm(directory, { recursive: true, force: true })
  })
  const heard: Heard[] = []
  for (const name of eventNames) hapax.on(name, (event) => heard.push({ name, event }))
  await hapax.open()
  change(path, 'CREATE TABLE orders (name TEXT NOT NULL) STRICT')
  const charges: string[] = []
  return {
    path,
    store,
    hapax,
    heard,
    logged,
    charges,
    async charge(what) {
      charges.push(what)
      return { charge: what }
    },
    policy: (options = {}) => hapax.policy({ name: 'payments.create', ...options }),
    at: (ms) => pinSqliteClock(path, ms),
    async withoutDatabase(use) {
      await rename(path, `${path}.away`)
      try {
        return await use()
      } finally {
        await rename(`${path}.away`, path)
      }
    },
  }
}
