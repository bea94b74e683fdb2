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
  sealed: sealedCalls,
}
