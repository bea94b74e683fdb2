import { HapaxError } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import { sealedCalls } from './sealed-calls.js'
import { has, type Tool } from './tool.js'

interface Prisma {
  $transaction<T>(
    body: (tx: PrismaTransaction) => Promise<T>,
    options: { readonly isolationLevel: 'ReadCommitted' },
  ): Promise<T>
}

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: SqlValue[]): Promise<readonly unknown[]>
}

/** Its own `timeout` bounds the whole of a transaction; that stays as its client was made. */
export const prismaTool: Tool<Prisma, PrismaTransaction> = {
  name: 'Prisma',
  isHandle: (given): given is Prisma => has(given, '$queryRawUnsafe', '$connect', '$transaction'),
  isTransaction: (given): given is PrismaTransaction => has(given, '$queryRawUnsafe') && !has(given, '$connect'),
  begin: (prisma, body) => prisma.$transaction(body, { isolationLevel: 'ReadCommitted' }),
  say: (tx, text, values) => tx.$queryRawUnsafe(text, ...values),
  sealed(tx, maySend) {
    const calls = sealedCalls(tx, maySend)
    return new Proxy(calls, {
      get: (target, name) => (name === '$transaction' ? refused : (Reflect.get(target, name) as unknown)),
    })
  },
}

/**
 * How deep it is nested it counts in its engine, where nobody can seal it: a handler that outlives its time would have the
 * owner's COMMIT release a savepoint.
 */
async function refused(): Promise<never> {
  throw new HapaxError(
    'transaction_nested',
    'Prisma cannot nest in a transaction that was joined. Write on the tx that you were given, or run without joins.',
  )
}
