import type { Command } from 'commander'
import { workerBounds } from '../kernel/limits.js'
import { engineArgument, withEngine } from './engine.js'
import { thenExit } from './exit.js'
import { progressBar } from './progress-bar.js'

const examples = `
Examples:
  hapax reap postgres://hapax_serving@db/app      all that is past its retention, now
  hapax reap .data/hapax.db --json

Buries answers past their retention and deletes tombstones that stood their time, in batches that never hold up traffic, until
there are none. The reaper of hapax work does the same, a little at a time.

Exit codes: 0 done, 1 failed, 2 wrong usage.`

/** `hapax reap <module-or-database>` */
export function addReap(program: Command): void {
  program
    .command('reap')
    .description('bury what is past its retention, and delete what was buried long enough')
    .argument('<engine>', engineArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .option('--json', 'print JSON instead of text')
    .addHelpText('after', examples)
    .action((given: string, { schema, json }: { schema?: string; json?: boolean }) =>
      thenExit(() =>
        withEngine(given, schema, async ({ hapax }) => {
          const bar = progressBar('reaped')
          const sum = { buried: 0, deleted: 0 }
          for (;;) {
            const { buried, deleted } = await hapax.chores.reap(workerBounds.reapBatch)
            sum.buried += buried
            sum.deleted += deleted
            bar.count(sum.buried + sum.deleted)
            if (buried < workerBounds.reapBatch && deleted < workerBounds.reapBatch) break
          }
          bar.end()
          console.log(json ? JSON.stringify(sum) : `${sum.buried} buried, ${sum.deleted} deleted`)
        }),
      ),
    )
}
