export { type MigrateSqliteOptions, migrateSqlite, type SqliteMigration } from './migrate.js'
export type { MigrateOnOpen } from './schema.js'
export { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './sqlite-store.js'
export type { SqliteResult, SqliteRow, SqliteStatement, SqliteTransaction, SqliteValue } from './statement.js'
