export type { PgClient, PgPool } from './connections.js'
export { migratePostgres, type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres-store.js'
