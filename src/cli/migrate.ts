import type { Command } from 'commander'
import { migratePostgres } from '../stores/postgres/index.js'
import { migrateSqlite } from '../stores/sqlite/index.js'
import { databaseArgument, databaseOf, refuseForSqlite } from './database.js'
import { withPostgres } from './postgres.js'

const examples = `
Examples:
  hapax migrate postgres://owner@db/app                    create the schema hapax, or bring it to this release
  hapax migrate postgres://owner@db/app --schema payments  the same for a schema of another name
  hapax migrate .data/hapax.db                             the same for a SQLite file
  hapax migrate .data/hapax.db --dry-run                   only say what would be done
  hapax migrate .data/hapax.db --json                      for a script

PostgreSQL needs the package pg, or postgres, and a role that may create the schema or owns it. A password may
stand in PGPASSWORD instead of the URL, and with the package pg in ~/.pgpass. A SQLite file that does not exist is created.
Any number of processes may migrate at once.

Exit codes: 0 done, 1 failed, 2 wrong usage.`

interface MigrateFlags {
  readonly schema?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** What was done to which database, or would be. */
interface Migrated {
  readonly database: string
  readonly schema?: string
  readonly from: number
  readonly to: number
  readonly migrations: readonly string[]
}

/** `hapax migrate <database>` */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the schema of a database to this release')
    .argument('<database>', databaseArgument)
    .option('--schema <name>', 'the schema in PostgreSQL (default: hapax)')
    .option('--dry-run', 'say what would be done and change nothing')
    .option('--json', 'print one JSON object instead of text')
    .addHelpText('after', examples)
    .action(async (database: string, flags: MigrateFlags) => {
      const migrated = await migrate(database, flags)
      console.log(flags.json ? asJson(migrated, flags) : asText(migrated, flags))
    })
}

async function migrate(given: string, { schema, dryRun }: MigrateFlags): Promise<Migrated> {
  const database = databaseOf(given)
  const mode = dryRun ? 'preview' : 'apply'
  switch (database.kind) {
    case 'sqlite': {
      refuseForSqlite('--schema', schema)
      const { path, ...migration } = await migrateSqlite({ path: database.path, mode })
      return { database: path, ...migration }
    }
    case 'postgres': {
      const options = { mode, ...(schema !== undefined && { schema }) } as const
      const migration = await withPostgres(database, (pool) => migratePostgres({ pool, ...options }))
      return { database: database.label, ...migration }
    }
  }
}

function asJson({ migrations, ...about }: Migrated, { dryRun = false }: MigrateFlags): string {
  return JSON.stringify({ ...about, dryRun, migrations })
}

function asText({ to, migrations }: Migrated, { dryRun }: MigrateFlags): string {
  if (migrations.length === 0) return `already up to date at version ${to}`
  return migrations.map((name) => `${dryRun ? 'would apply' : 'applied'} ${name}`).join('\n')
}
