import type { Store } from 'hapax'
import { describe } from 'vitest'
import { blackBoxGroups } from '../../../scripts/acceptance/judge.mjs'
import type { Customer } from '../../sandbox/database.js'
import type { Api, SandboxProcess } from '../../sandbox/sandbox-process.js'
import { onPostgres } from '../../support/on-postgres.js'
import { embeddedBlackBox } from './black-box-embedded.js'
import { postgresBlackBox } from './black-box-postgres.js'
import type { Row } from './database.js'

/** The sandbox as its clients meet it, and what lies in its database, read and changed without Hapax. */
export interface BlackBox {
  /** Of the API; of two nodes, what sends each request to the one or the other. */
  readonly url: string
  readonly nodes: readonly SandboxProcess[]
  /** Where the simulated partners are, of a sandbox that has them. */
  readonly partners: Api
  /** As many nodes more on the same database. */
  another(settings?: Pick<BlackBoxSettings, 'env'>): Promise<BlackBox>
  /** Sends the signal to all nodes, and gives their exit codes; `null` where the signal itself ended one. */
  stop(signal: NodeJS.Signals): Promise<readonly (number | null)[]>
  /** The ids of a customer's payments. */
  paymentsOf(payment?: Customer): Promise<unknown[]>
  /** What is kept of a key. */
  recordsOf(key: string): Promise<Row[]>
  /** The whole record of a key, its times in milliseconds. */
  recordOf(key: string): Promise<Row>
  /** Changes the record of a key, by the SET clause of an UPDATE that both databases know. */
  change(key: string, set: string): Promise<void>
  /** How a time, and how bytes are written in such a clause. */
  time(ms: number): string
  bytes(value: string | Uint8Array): string
  /** A statement in which `{hapax}` and `{sandbox}` stand before the names of tables. */
  sql(text: string): Promise<Row[]>
  /** Pins the clock of the store, on all nodes. */
  at(ms: number): Promise<void>
  /** A store that belongs to no node, for as long as `use` takes. */
  withStore(use: <Tx>(store: Store<Tx>) => Promise<void>): Promise<void>
  /** Takes the whole database away meanwhile. */
  withoutDatabase<T>(use: () => Promise<T>): Promise<T>
  /** Lets the database refuse the payments of a customer meanwhile. */
  refusing<T>(payment: Customer, use: () => Promise<T>): Promise<T>
}

export interface BlackBoxSettings {
  readonly env?: Record<string, string>
  /** The API alone, unless it is to have its partners and somebody who starts it again. */
  readonly providers?: 'none' | 'simulated'
}

export type Start = (settings?: BlackBoxSettings) => Promise<BlackBox>

/** Declares the same tests for one API on the embedded database, and for two nodes on a real PostgreSQL. */
export function onBothDatabases(declare: (start: Start) => void): void {
  describe(blackBoxGroups.embedded, () => declare(embeddedBlackBox))
  onPostgres(blackBoxGroups.postgres, () => declare(postgresBlackBox))
}
