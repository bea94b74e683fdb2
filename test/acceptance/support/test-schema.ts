import { type Effects, type Engine, engine } from 'hapax'
import { type PostgresStore, type PostgresStoreOptions, postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { connectionsOfTest, schemaOfTest } from '../../support/postgres-schema.js'
import { until } from '../../support/waiting.js'
import { listenedWire, type Wire } from './listened-wire.js'

/** A schema of one test on a real PostgreSQL: nodes that share it, its clock, and its rows as plain SQL sees them. */
export interface TestSchema {
  readonly name: string
  /** Another node: a pool of its own, on a wire of its own, that has already met the server. */
  node(options?: NodeOptions): Promise<SchemaNode>
  /** Pins the clock of the schema, for all nodes. */
  setTime(ms: number): Promise<void>
  sql(text: string, ...values: readonly unknown[]): Promise<Row[]>
  /** The record of a key, its times in milliseconds. */
  row(key: string): Promise<Row>
  /** A connection of its own, for somebody who stands in the way. */
  client(): Promise<pg.Client>
  /** Waits until so many statements of the nodes wait for a lock. */
  untilWaiting(count: number): Promise<void>
}

export type Row = Readonly<Record<string, unknown>>

export interface NodeOptions extends Omit<PostgresStoreOptions<pg.Pool>, 'pool' | 'schema'> {
  readonly url?: string
  readonly max?: number
  readonly effects?: Effects
  /** Settings of the session, as `postgres -c` takes them. */
  readonly settings?: Readonly<Record<string, string>>
}

export interface SchemaNode {
  readonly store: PostgresStore<pg.PoolClient>
  readonly hapax: Engine<pg.PoolClient>
  readonly pool: pg.Pool
  readonly wire: Wire
}

/** As applications write them: the rows of a payment, beside our own. */
const payments = 'CREATE TABLE payments (id bigint GENERATED ALWAYS AS IDENTITY, made_by text NOT NULL)'

export async function testSchema(serverUrl: string): Promise<TestSchema> {
  const { schema: name, setTime } = await schemaOfTest(serverUrl)
  const inSchema = { options: `-c search_path=${name}` }
  const owner = connectionsOfTest(serverUrl, { max: 2, ...inSchema })
  const sql = async (text: string, ...values: readonly unknown[]) => (await owner.query<Row>(text, [...values])).rows
  await sql(payments)
  const ends: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end()
  })

  return {
    name,
    async node({ url = serverUrl, max = 4, settings = {}, effects, ...options } = {}) {
      const wire = await listenedWire(url)
      const pool = new pg.Pool({
        connectionString: wire.url,
        max,
        idleTimeoutMillis: 0,
        application_name: name,
        ...(Object.keys(settings).length > 0 && {
          options: Object.entries(settings)
            .map(([setting, value]) => `-c ${setting}=${value}`)
            .join(' '),
        }),
      })
      pool.on('error', () => undefined)
      const store = postgresStore({ ...options, pool, schema: name })
      // Tests move the clock of the schema by days in no time: whoever remembers an answer would not notice.
      const hapax = engine({ store, replayCache: 'off', log: () => undefined, ...(effects && { effects }) })
      ends.push(async () => {
        await hapax.close()
        await pool.end()
        await wire.close()
      })
      await hapax.open()
      wire.forget()
      return { store, hapax, pool, wire }
    },
    setTime,
    sql,
    async row(key) {
      const [row, ...others] = await sql('SELECT * FROM records WHERE idempotency_key = $1', key)
      if (row === undefined || others.length > 0) throw new Error(`${key} has ${row ? 'several records' : 'no record'}`)
      const plain = Object.entries(row).map(([column, value]) => [column, value instanceof Date ? +value : value])
      return Object.fromEntries(plain)
    },
    async client() {
      const client = new pg.Client({ connectionString: serverUrl, ...inSchema })
      await client.connect()
      ends.push(() => client.end())
      return client
    },
    async untilWaiting(count) {
      const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE application_name = $1 AND wait_event_type = 'Lock'`
      await until(
        async () => (await sql(waiting, name))[0]?.n,
        (waits) => waits === count,
        `${count} statements to wait for a lock`,
      )
    },
  }
}
