import type { SqlValue } from '../../sql/row.js'
import { has, readCommitted, type Tool } from './tool.js'

interface Knex {
  transaction<T>(body: (tx: KnexTransaction) => Promise<T>): Promise<T>
}

interface KnexTransaction {
  readonly isTransaction?: boolean
  raw(text: string, values: SqlValue[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

export const knexTool: Tool<Knex, KnexTransaction> = {
  name: 'Knex',
  isHandle: (given): given is Knex => isKnex(given) && given.isTransaction !== true,
  isTransaction: (given): given is KnexTransaction => isKnex(given) && given.isTransaction === true,
  // It would say the level before BEGIN, where PostgreSQL does not listen.
  begin: (knex, body) =>
    knex.transaction(async (tx) => {
      await tx.raw(readCommitted, [])
      return body(tx)
    }),
  async say(tx, text, values) {
    const { sql, bindings } = questioned(text, values)
    return (await tx.raw(sql, bindings)).rows
  },
}

function isKnex(given: object): given is Knex & KnexTransaction {
  return typeof given === 'function' && has(given, 'raw', 'transaction')
}

/** This tool counts its values itself: each `$n` is a question mark there, and a question mark is escaped. */
function questioned(text: string, values: readonly SqlValue[]) {
  const bindings: SqlValue[] = []
  const sql = text.replaceAll(/\?|\$(\d+)/g, (found, n?: string) => {
    if (n === undefined) return `\\${found}`
    bindings.push(values[Number(n) - 1] ?? null)
    return '?'
  })
  return { sql, bindings }
}
