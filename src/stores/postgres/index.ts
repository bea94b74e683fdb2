export type { PostgresClient, TransactionOf } from './client.js'
export type { Durability } from './examine.js'
export type { RowSecurity } from './executor.js'
export type { PgClient, PgPool } from './pg-pool.js'
export type { PostgresJs } from './postgres-js.js'
export type { PostgresJsTransaction } from './postgres-js-guard.js'
export {
  migratePostgres,
  type PostgresOptions,
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from './postgres-store.js'
export { type PostgresRightsOptions, postgresRights } from './rights.js'
export type { MigratePostgresOptions, PostgresMigration } from './schema.js'
export type { PGlite, PGliteTransaction } from './transactions/pglite.js'
export type { TransactionFrom, TransactionSource } from './transactions/source.js'
