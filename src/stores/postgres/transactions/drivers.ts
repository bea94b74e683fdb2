import { guarded, type PgClient } from '../pg-pool.js'
import { guarded as guardedSql, openCourse, type PostgresJsTransaction } from '../postgres-js-guard.js'
import { has, type Speaker } from './tool.js'

/** Transactions of the two client libraries that somebody else opened. The store opens its own on their connections. */

export const pgSpeaker: Speaker<Pick<PgClient, 'query'>> = {
  name: 'a pg client',
  isTransaction: (given): given is PgClient => has(given, 'query', 'escapeLiteral'),
  say: async (client, text, values) => (await client.query({ text, values, ...raw })).rows,
  sealed: (client, maySend) => guarded(client, maySend),
}

export const postgresJsSpeaker: Speaker<PostgresJsTransaction> = {
  name: 'the sql of a postgres.js transaction',
  isTransaction: (given): given is PostgresJsTransaction => has(given, 'unsafe', 'savepoint'),
  async say(sql, text, values) {
    const rows = (await sql.unsafe(text, values as never[], { prepare: false }).raw()) as (Uint8Array | null)[][]
    return rows.map((row) => row.map((value) => value && Buffer.from(value).toString()))
  },
  sealed: (sql, maySend) => guardedSql(sql, openCourse(), maySend),
}

const raw = { rowMode: 'array', types: { getTypeParser: () => (value: string) => value } } as const
