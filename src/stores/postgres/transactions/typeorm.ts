import type { SqlValue } from '../../sql/row.js'
import { endedTransaction } from '../faults.js'
import { has, type Tool } from './tool.js'

interface DataSource {
  transaction<T>(level: 'READ COMMITTED', body: (manager: TypeOrmTransaction) => Promise<T>): Promise<T>
}

/** An EntityManager, or a QueryRunner. */
interface TypeOrmTransaction {
  query(text: string, values: SqlValue[]): Promise<readonly unknown[]>
}

interface Manager extends TypeOrmTransaction {
  readonly connection: { createEntityManager(runner: Runner): TypeOrmTransaction }
}

interface Runner extends TypeOrmTransaction {
  readonly manager?: Manager
  /** What tells the subscribers of the application, with the runner that they may use. */
  readonly broadcaster?: object
}

export const typeOrmTool: Tool<DataSource, TypeOrmTransaction> = {
  name: 'TypeORM',
  isHandle: (given): given is DataSource => has(given, 'transaction', 'createQueryRunner'),
  isTransaction: (given): given is TypeOrmTransaction => isOpen(given) || isOpen(runnerOf(given)),
  begin: (source, body) => source.transaction('READ COMMITTED', body),
  say: (tx, text, values) => tx.query(text, values),
  sealed(tx, maySend) {
    const runner = runnerOf(tx) as Runner | undefined
    if (runner === undefined) return sealedRunner(tx as Runner, maySend)
    return (tx as Manager).connection.createEntityManager(sealedRunner(runner, maySend))
  },
}

/** The manager of a whole DataSource has none: what it is asked goes to any connection. */
function runnerOf(given: object): unknown {
  return has(given, 'query', 'getRepository') ? (given as { queryRunner?: unknown }).queryRunner : undefined
}

function isOpen(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return has(given, 'query', 'startTransaction') && 'isTransactionActive' in given && given.isTransactionActive === true
}

/**
 * All that this tool sends goes through the `query` of a runner. What it writes on the runner stays with the one it was written
 * on: how deep it is nested, which says what COMMIT is, and the manager that a nested transaction is given. A handler that
 * never ends would otherwise have the owner release a savepoint.
 */
function sealedRunner(runner: Runner, maySend: () => boolean): Runner {
  const query: Runner['query'] = async (...given) => {
    if (!maySend()) throw endedTransaction()
    return runner.query(...given)
  }
  const own = new Map<string | symbol, unknown>()
  const sealed: Runner = new Proxy(runner, {
    set(_, name, value) {
      own.set(name, value)
      return true
    },
    get(target, name, self) {
      if (name === 'query') return query
      if (own.has(name)) return own.get(name)
      if (name === 'broadcaster') return broadcaster
      if (name === 'manager') return target.manager?.connection.createEntityManager(sealed)
      return Reflect.get(target, name, self) as unknown
    },
  })
  const broadcaster = broadcasterOf(runner, sealed)
  return sealed
}

function broadcasterOf({ broadcaster }: Runner, sealed: Runner): object | undefined {
  return broadcaster && Object.create(broadcaster, { queryRunner: { value: sealed } })
}
