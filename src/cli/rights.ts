import type { Command } from 'commander'
import { postgresRights } from '../stores/postgres/index.js'

const examples = `
Examples:
  hapax rights hapax_serving                                       read them
  hapax rights hapax_serving | psql postgres://owner@db/app        grant them
  hapax rights hapax_serving --row-security | psql …               and keep each statement to one scope

Connects to nothing. The role must exist: CREATE ROLE hapax_serving LOGIN. It should own nothing. Grant again after
every migration.`

interface RightsFlags {
  readonly schema?: string
  readonly rowSecurity?: boolean
}

/** `hapax rights <role>` */
export function addRights(program: Command): void {
  program
    .command('rights')
    .description('print the SQL that gives a role of PostgreSQL what serving needs')
    .argument('<role>', 'the role that serves')
    .option('--schema <name>', 'the schema (default: hapax)')
    .option('--row-security', 'have PostgreSQL keep each statement to the records of one scope')
    .addHelpText('after', examples)
    .action((role: string, { schema, rowSecurity }: RightsFlags) => {
      const named = schema === undefined ? {} : { schema }
      const statements = postgresRights({ role, rowSecurity: rowSecurity ? 'scope' : 'off', ...named })
      console.log('-- Run this with the role that owns the schema, in its database: all of it or nothing is done.')
      for (const statement of ['BEGIN', ...statements, 'COMMIT']) console.log(`${statement};`)
    })
}
