import type { SqlValue } from '../../sql/row.js'
import { has, type Tool } from './tool.js'

interface DataSource {
  transaction<T>(level: 'READ COMMITTED', body: (manager: TypeOrmTransaction) => Promise<T>): Promise<T>
}

/** An EntityManager, or a QueryRunner. */
interface TypeOrmTransaction {
  query(text: string, values: SqlValue[]): Promise<readonly unknown[]>
}

export const typeOrmTool: Tool<DataSource, TypeOrmTransaction> = {
  name: 'TypeORM',
  isHandle: (given): given is DataSource => has(given, 'transaction', 'createQueryRunner'),
  isTransaction: (given): given is TypeOrmTransaction => isOpen(given) || isOpen(runnerOf(given)),
  begin: (source, body) => source.transaction('READ COMMITTED', body),
  say: (tx, text, values) => tx.query(text, values),
}

/** The manager of a whole DataSource has none: what it is asked goes to any connection. */
function runnerOf(given: object): unknown {
  return has(given, 'query', 'getRepository') ? (given as { queryRunner?: unknown }).queryRunner : undefined
}

function isOpen(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  return has(given, 'query', 'startTransaction') && 'isTransactionActive' in given && given.isTransactionActive === true
}
