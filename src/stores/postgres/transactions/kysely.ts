import type { SqlValue } from '../../sql/row.js'
import { has, type Tool } from './tool.js'

interface Kysely {
  readonly isTransaction: boolean
  transaction(): {
    setIsolationLevel(level: 'read committed'): { execute<T>(body: (tx: KyselyTransaction) => Promise<T>): Promise<T> }
  }
}

interface KyselyTransaction {
  readonly isTransaction: boolean
  executeQuery(query: Compiled): Promise<{ readonly rows: readonly unknown[] }>
}

/** A statement that this tool did not build itself. */
interface Compiled {
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly never[]
  }
  readonly queryId: { readonly queryId: string }
  readonly sql: string
  readonly parameters: SqlValue[]
}

export const kyselyTool: Tool<Kysely, KyselyTransaction> = {
  name: 'Kysely',
  isHandle: (given): given is Kysely => isKysely(given) && !given.isTransaction,
  isTransaction: (given): given is KyselyTransaction => isKysely(given) && given.isTransaction,
  begin: (db, body) => db.transaction().setIsolationLevel('read committed').execute(body),
  async say(tx, sql, parameters) {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
    return (await tx.executeQuery({ query, queryId: { queryId: 'hapax' }, sql, parameters })).rows
  },
}

function isKysely(given: object): given is Kysely & KyselyTransaction {
  return has(given, 'executeQuery', 'transaction') && 'isTransaction' in given
}
