import type { Command } from 'commander'
import { migrateSqlite, type SqliteMigration } from '../stores/sqlite/index.js'
import { databaseOf } from './database.js'

const examples = `
Examples:
  hapax migrate .data/hapax.db              bring the file to the schema of this release
  hapax migrate sqlite:.data/hapax.db       the same
  hapax migrate .data/hapax.db --dry-run    only say what would be done
  hapax migrate .data/hapax.db --json       for a script

Any number of processes may migrate at once. A file that does not exist is created.`

interface MigrateFlags {
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** `hapax migrate <database>` */
export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the schema of a database to this release')
    .argument('<database>', 'the path of a SQLite file, or sqlite:<path>, or file:<path>')
    .option('--dry-run', 'say what would be done and change nothing')
    .option('--json', 'print one JSON object instead of text')
    .addHelpText('after', examples)
    .action(async (database: string, flags: MigrateFlags) => {
      const { path } = databaseOf(database)
      const result = await migrateSqlite({ path, mode: flags.dryRun ? 'preview' : 'apply' })
      console.log(flags.json ? asJson(result, flags) : asText(result, flags))
    })
}

function asJson({ path, from, to, migrations }: SqliteMigration, { dryRun = false }: MigrateFlags): string {
  return JSON.stringify({ database: path, from, to, dryRun, migrations })
}

function asText({ to, migrations }: SqliteMigration, { dryRun }: MigrateFlags): string {
  if (migrations.length === 0) return `already up to date at version ${to}`
  return migrations.map((name) => `${dryRun ? 'would apply' : 'applied'} ${name}`).join('\n')
}
