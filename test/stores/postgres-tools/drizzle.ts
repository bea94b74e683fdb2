import { sql } from 'drizzle-orm'
import { type NodePgDatabase, drizzle as onPg } from 'drizzle-orm/node-postgres'
import { pgSchema, text } from 'drizzle-orm/pg-core'
import { drizzle as onPostgresJs, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import type { TransactionFrom } from 'hapax/postgres'
import postgres from 'postgres'
import { connectionsOfTool, firstOf, onServer, poolOfTool, type ToolFixture } from './fixture.js'

export const drizzleOnPgFixture: ToolFixture<TransactionFrom<NodePgDatabase>> = {
  name: 'Drizzle on pg',
  connections: 'many',
  async connect(place) {
    const { url, bench } = place
    const pool = poolOfTool(url)
    const handle: NodePgDatabase = onPg(pool)
    return onServer(place, {
      handle,
      ride: (tx, name) => tx.insert(ridesIn(bench.schema)).values({ name }),
      nest: (tx, body) => tx.transaction(body),
      ask: async (tx, statement) => firstOf((await tx.execute(sql.raw(statement))).rows[0]),
      end: () => pool.end(),
    })
  },
}

export const drizzleOnPostgresJsFixture: ToolFixture<TransactionFrom<PostgresJsDatabase>> = {
  name: 'Drizzle on postgres.js',
  connections: 'many',
  async connect(place) {
    const { url, bench } = place
    const client = postgres(url, { max: connectionsOfTool, prepare: false, fetch_types: false })
    const handle: PostgresJsDatabase = onPostgresJs(client)
    return onServer(place, {
      handle,
      ride: (tx, name) => tx.insert(ridesIn(bench.schema)).values({ name }),
      nest: (tx, body) => tx.transaction(body),
      ask: async (tx, statement) => firstOf((await tx.execute(sql.raw(statement)))[0]),
      end: () => client.end({ timeout: 1 }),
    })
  },
}

function ridesIn(schema: string) {
  return pgSchema(schema).table('rides', { name: text('name').notNull() })
}
