import { PGlite, type Transaction as PGliteTransaction } from '@electric-sql/pglite'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { engine } from 'hapax'
import { type PostgresStore, postgresStore } from 'hapax/postgres'
import type { Knex } from 'knex'
import type { Kysely, Transaction } from 'kysely'
import pg from 'pg'
import type { DataSource, EntityManager } from 'typeorm'
import { expectTypeOf, test } from 'vitest'
import type { PrismaRides } from '../stores/postgres-tools/prisma.js'

interface Tables {
  readonly rides: { readonly name: string }
}

/** As Drizzle's own users name it. */
type DrizzleTransaction<Db extends { transaction: (body: never) => unknown }> = Parameters<
  Parameters<Db['transaction']>[0]
>[0]

const pool = new pg.Pool()
const given = {} as {
  readonly kysely: Kysely<Tables>
  readonly drizzleOnPg: NodePgDatabase
  readonly drizzleOnPostgresJs: PostgresJsDatabase
  readonly prisma: PrismaRides
  readonly knex: Knex
  readonly typeOrm: DataSource
}

test('a handler is given the transaction of its query builder', () => {
  const hapax = engine({ store: postgresStore({ pool, transactions: given.kysely }) })
  void hapax.run({ scope: 'acme', key: 'k', input: 1, policy: hapax.policy({ name: 'a' }) }, (work) =>
    work.commit(async ({ tx }) => {
      expectTypeOf(tx).toEqualTypeOf<Transaction<Tables>>()
      return 5
    }),
  )
})

test('each tool has its own', () => {
  const { kysely, drizzleOnPg, drizzleOnPostgresJs, prisma, knex, typeOrm } = given
  type PrismaTransaction = Omit<PrismaRides, '$connect' | '$disconnect' | '$on' | '$use' | '$extends'>
  expectTypeOf(postgresStore({ pool, transactions: kysely })).toEqualTypeOf<PostgresStore<Transaction<Tables>>>()
  expectTypeOf(postgresStore({ pool, transactions: drizzleOnPg })).toEqualTypeOf<
    PostgresStore<DrizzleTransaction<NodePgDatabase>>
  >()
  expectTypeOf(postgresStore({ pool, transactions: drizzleOnPostgresJs })).toEqualTypeOf<
    PostgresStore<DrizzleTransaction<PostgresJsDatabase>>
  >()
  expectTypeOf(postgresStore({ pool, transactions: prisma })).toEqualTypeOf<PostgresStore<PrismaTransaction>>()
  expectTypeOf(postgresStore({ pool, transactions: knex })).toEqualTypeOf<PostgresStore<Knex.Transaction>>()
  expectTypeOf(postgresStore({ pool, transactions: typeOrm })).toEqualTypeOf<PostgresStore<EntityManager>>()
})

test('a PGlite is a pool, and opens transactions', () => {
  const pglite = new PGlite()
  expectTypeOf(postgresStore({ pool: pglite })).toEqualTypeOf<PostgresStore<PGliteTransaction>>()
  expectTypeOf(postgresStore({ pool, transactions: pglite })).toEqualTypeOf<PostgresStore<PGliteTransaction>>()
})

test('what opens no transactions is refused', () => {
  // @ts-expect-error: a pool opens none
  postgresStore({ pool, transactions: pool })
})
