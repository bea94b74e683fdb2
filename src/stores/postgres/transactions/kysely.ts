import type { SqlValue } from '../../sql/row.js'
import { endedTransaction } from '../faults.js'
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
  withPlugin(plugin: Plugin): KyselyTransaction
}

/** Sees every statement that is built, before it is sent. */
interface Plugin {
  transformQuery(given: { readonly node: unknown }): unknown
  transformResult(given: { readonly result: unknown }): Promise<unknown>
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
  // Whatever is built on it passes its plugins on the way out; what was built before is handed to it.
  sealed(tx, maySend) {
    const refuseLate = () => {
      if (!maySend()) throw endedTransaction()
    }
    const plugged = tx.withPlugin({
      transformQuery({ node }) {
        refuseLate()
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const executeQuery: KyselyTransaction['executeQuery'] = async (query) => {
      refuseLate()
      return plugged.executeQuery(query)
    }
    return new Proxy(plugged, {
      get(target, name) {
        if (name === 'executeQuery') return executeQuery
        const found = Reflect.get(target, name, target) as unknown
        // The functions of SQL are one themselves, and hold the others.
        if (typeof found !== 'function' || name === 'fn') return found
        return (...given: unknown[]) => {
          const made: unknown = Reflect.apply(found, target, given)
          return commands.has(name) ? sealedCommand(made as Command, maySend) : sealedForm(made, maySend)
        }
      },
    })
  },
}

/** What is said to a transaction that is ended by hand. No plugin sees it. */
interface Command {
  execute(): Promise<unknown>
}

const commands: ReadonlySet<string | symbol> = new Set([
  'commit',
  'rollback',
  'savepoint',
  'rollbackToSavepoint',
  'releaseSavepoint',
])

function sealedCommand(command: Command, maySend: () => boolean): Command {
  return {
    async execute() {
      if (!maySend()) throw endedTransaction()
      return sealedForm(await command.execute(), maySend)
    },
  }
}

/** The same transaction in another form, such as without plugins, is sealed anew. */
function sealedForm(made: unknown, maySend: () => boolean): unknown {
  return typeof made === 'object' && made !== null && isKysely(made) ? kyselyTool.sealed(made, maySend) : made
}

function isKysely(given: object): given is Kysely & KyselyTransaction {
  return has(given, 'executeQuery', 'transaction') && 'isTransaction' in given
}
