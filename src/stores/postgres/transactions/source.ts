import { HapaxError } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import type { Query, Row } from '../connections.js'
import { pgSpeaker, postgresJsSpeaker } from './drivers.js'
import { drizzleTool } from './drizzle.js'
import { knexTool } from './knex.js'
import { kyselyTool } from './kysely.js'
import { pgliteTool } from './pglite.js'
import { prismaTool } from './prisma.js'
import { reasonOf } from './reason.js'
import { asText, rowsOf } from './statement.js'
import type { Speaker, Tool } from './tool.js'
import { typeOrmTool } from './typeorm.js'

/** The handle of a tool that opens transactions: Kysely, Drizzle, Prisma, Knex, TypeORM or PGlite. */
export type TransactionSource =
  | { readonly transaction: (...given: never[]) => unknown }
  | { readonly $transaction: (...given: never[]) => unknown }

/** What such a tool hands out for a transaction, in the order Prisma, Kysely, TypeORM, and whoever takes a function first. */
export type TransactionFrom<Source> = Source extends {
  $transaction(body: Takes<infer Tx>, options?: never): unknown
}
  ? Tx
  : Source extends { transaction(): { execute(body: Takes<infer Tx>): unknown } }
    ? Tx
    : Source extends { createQueryRunner: unknown; transaction(level: never, body: Takes<infer Tx>): unknown }
      ? Tx
      : Source extends { transaction(body: Takes<infer Tx>, options?: never): unknown }
        ? Tx
        : never

type Takes<Tx> = (tx: Tx) => Promise<unknown>

const tools: readonly Tool[] = [kyselyTool, drizzleTool, prismaTool, knexTool, typeOrmTool, pgliteTool]
const speakers: readonly Speaker[] = [pgSpeaker, postgresJsSpeaker, ...tools]

/** A transaction that somebody opened, as the store speaks on it: values go and come as PostgreSQL spells them. */
export interface Speaks {
  query(query: Query, values: readonly SqlValue[]): Promise<readonly Row[]>
  /** As its owner hands it to somebody who may send only for a while. */
  sealed(maySend: () => boolean): object
}

/** Recognises the transaction of a tool by its shape. */
export function spoken(tx: unknown): Speaks {
  const speaker = isThing(tx) && speakers.find((speaker) => speaker.isTransaction(tx))
  if (!speaker) throw unknown('This is no transaction that is known here', speakers)
  return speaking(speaker, tx as object)
}

function speaking<On extends object>({ say, sealed }: Pick<Speaker<On>, 'say' | 'sealed'>, on: On): Speaks {
  return {
    sealed: (maySend) => sealed(on, maySend),
    async query(query, values) {
      try {
        return rowsOf(query, await say(on, asText(query), [...values]))
      } catch (error) {
        throw reasonOf(error)
      }
    },
  }
}

/** Opens a transaction, commits it when its function resolves, and rolls it back when that throws. */
export type Begins = <T>(body: (tx: object) => Promise<T>) => Promise<T>

/** Recognises the handle of a tool by its shape. */
export function begins(handle: unknown): Begins {
  const tool = isThing(handle) && tools.find((tool) => tool.isHandle(handle))
  if (tool) return async (body) => tool.begin(handle as object, body)
  throw unknown('transactions is nothing that is known here to open one', tools)
}

function isThing(given: unknown): given is object {
  return (typeof given === 'object' && given !== null) || typeof given === 'function'
}

function unknown(what: string, known: readonly Speaker[]): HapaxError {
  return new HapaxError('store_unknown', `${what}. These are: ${known.map(({ name }) => name).join(', ')}.`)
}
