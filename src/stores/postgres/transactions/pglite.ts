import type { SqlValue } from '../../sql/row.js'
import { sealedCalls } from './sealed-calls.js'
import { has, readCommitted, type Tool } from './tool.js'

/** PostgreSQL inside of this process, with one connection. */
export interface PGlite<Tx extends PGliteTransaction = PGliteTransaction> extends PGliteTransaction {
  transaction<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  query(text: string, values?: SqlValue[], options?: Raw): Promise<{ readonly rows: readonly unknown[] }>
  readonly parsers: Readonly<Record<string, unknown>>
  readonly execProtocol: unknown
}

interface Raw {
  readonly rowMode: 'array'
  readonly parsers: Readonly<Record<string, (value: string) => unknown>>
}

export interface PGliteTransaction {
  query(text: string, values?: SqlValue[]): Promise<{ readonly rows: readonly unknown[] }>
  exec(text: string): Promise<unknown>
}

export const pgliteTool: Tool<PGlite, PGliteTransaction> = {
  name: 'PGlite',
  isHandle: isPGlite,
  isTransaction: (given): given is PGliteTransaction =>
    has(given, 'query', 'exec', 'rollback', 'listen') && !has(given, 'execProtocol'),
  begin: (db, body) =>
    db.transaction(async (tx) => {
      await tx.exec(readCommitted)
      return body(tx)
    }),
  say: async (tx, text, values) => (await tx.query(text, values)).rows,
  sealed: sealedCalls,
}

export function isPGlite(given: object): given is PGlite {
  return has(given, 'query', 'exec', 'transaction', 'execProtocol')
}
