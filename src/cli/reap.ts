import type { Command } from 'commander'
import type { Chores } from '../engine/chores.js'
import type { Reaped } from '../engine/store.js'
import { telemetryBounds, workerBounds } from '../kernel/limits.js'
import { confirmedChange } from './confirm.js'
import { engineArgument, withEngine } from './engine.js'
import { notConfirmedHelp, thenExit } from './exit.js'
import { progressBar } from './progress-bar.js'

const examples = `
Examples:
  hapax reap postgres://hapax_serving@db/app --dry-run  how much is past its retention
  hapax reap postgres://hapax_serving@db/app            all of it, now, once you have seen how much
  hapax reap .data/hapax.db --yes --json                for cron

Buries answers past their retention and deletes tombstones that stood their time, in batches that never hold up traffic, until
there are none. Up to ${telemetryBounds.countedRows} of each are counted before. The reaper of hapax work does the same, a little at a time: no
person decides what goes, but the retention of its route, so that it is not in the audit log. What is half-done past its
retention it leaves to a person; this command leaves that alone.

Exit codes: 0 done, or shown by --dry-run; 1 failed; 2 wrong usage;
${notConfirmedHelp}.`

interface ReapFlags {
  readonly schema?: string
  readonly dryRun?: boolean
  readonly yes?: boolean
  readonly json?: boolean
}

/** `hapax reap <module-or-database>` */
export function addReap(program: Command): void {
  program
    .command('reap')
    .description('bury what is past its retention, and delete what was buried long enough')
    .argument('<engine>', engineArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .option('--dry-run', 'say how much it would be and change nothing')
    .option('--yes', 'do it without asking')
    .option('--json', 'print JSON instead of text')
    .addHelpText('after', examples)
    .action((given: string, flags: ReapFlags) =>
      thenExit(() => withEngine(given, flags.schema, ({ hapax }) => reap(hapax.chores, flags))),
    )
}

async function reap(chores: Chores, flags: ReapFlags): Promise<void> {
  const shown = async () => ({ reapable: await chores.reapable() })
  if (flags.dryRun) {
    const would = await shown()
    console.log(flags.json ? JSON.stringify({ changed: false, ...would }) : reapableText(would.reapable))
    return
  }
  await confirmedChange(flags, {
    shown,
    shownText: ({ reapable }) => reapableText(reapable),
    question: 'Bury and delete them? Their answers are gone then.',
    act: () => reapedAll(chores),
    doneText: ({ buried, deleted }) => `${buried} buried, ${deleted} deleted`,
  })
}

function reapableText(reapable: Reaped | undefined): string {
  if (reapable === undefined) return 'This store does not count what is past its retention.'
  const most = telemetryBounds.countedRows
  const counted = (count: number) => (count < most ? String(count) : `${most} or more`)
  return `${counted(reapable.buried)} to bury, ${counted(reapable.deleted)} to delete`
}

async function reapedAll(chores: Chores): Promise<Reaped> {
  const bar = progressBar('reaped')
  const sum = { buried: 0, deleted: 0 }
  for (;;) {
    const { buried, deleted } = await chores.reap(workerBounds.reapBatch)
    sum.buried += buried
    sum.deleted += deleted
    bar.count(sum.buried + sum.deleted)
    if (buried < workerBounds.reapBatch && deleted < workerBounds.reapBatch) break
  }
  bar.end()
  return sum
}
