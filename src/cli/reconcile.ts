import type { Command } from 'commander'
import { agree } from '../workers/ledger.js'
import { engineArgument, type OpenEngine, withEngine } from './engine.js'
import { exitCodes, thenExit } from './exit.js'
import { type ComparisonFlags, comparison } from './ledger-comparison.js'
import { testifiedIn, testifyAll } from './ledger-testimony.js'
import { ledgerText } from './ledger-text.js'

const examples = `
Examples:
  hapax reconcile ./dist/hapax.js --ledger day.csv            compare with what the provider says it has done
  hapax reconcile postgres://hapax_serving@db/app --ledger day.jsonl --since 2026-02-28 --until 2026-03-01
  hapax reconcile ./dist/hapax.js --ledger day.csv --landed settled,captured --operations rides.create
  hapax reconcile ./dist/hapax.js --ledger day.csv --landed settled --testify   and settle what we did not know

A ledger is CSV with a head, or JSON lines. Columns: key (the downstream key that the provider was sent), and where there
are any id, amount, status, at. Up to two million keys are held at once, some 300 bytes each; more are compared in shorter
windows. What is younger than an hour (--settle) is not judged: it may be on its way. Where there are statuses, --testify
needs --landed. Of ours only what began between --since and --until is read, and what the ledger names.

Exit codes: 0 both sides agree; 1 they do not, or it failed; 2 wrong usage; 3 nothing was compared: the
ledger is empty, or nothing of either side lies in the window.`

interface ReconcileFlags extends ComparisonFlags {
  readonly schema?: string
  readonly ledger: string
  readonly json?: boolean
}

/** `hapax reconcile <module-or-database>` */
export function addReconcile(program: Command): void {
  program
    .command('reconcile')
    .description('compare with the ledger of a provider; hapax unknown reconcile asks providers')
    .argument('<engine>', engineArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .requiredOption('--ledger <file>', 'compare with this ledger, in both directions')
    .option('--since <time>', 'judge only what began from then on')
    .option('--until <time>', 'judge only what began before then')
    .option('--settle <duration>', 'judge nothing that is younger (default: 1h)')
    .option('--landed <statuses>', 'only lines with one of these statuses say that it was done (default: all)')
    .option('--operations <names>', 'only these operations of ours went to this provider (default: all)')
    .option('--testify', 'keep what the ledger says about our doubts, which settles them')
    .option('--json', 'print one JSON object instead of text')
    .addHelpText('after', examples)
    .action(async (given: string, flags: ReconcileFlags) => {
      await thenExit(() => withEngine(given, flags.schema, (open) => compare(open, flags.ledger, flags)))
    })
}

async function compare({ hapax }: OpenEngine, ledger: string, flags: ReconcileFlags): Promise<void> {
  const { report, open } = await comparison(hapax, ledger, flags)
  const testified = flags.testify ? await testifyAll(hapax, open, ledger) : undefined
  const counted = { testified: testified === undefined ? 0 : testifiedIn(testified), cameOf: testified }
  const json = () => JSON.stringify({ agree: agree(report), ...counted, ...report })
  console.log(flags.json ? json() : ledgerText(report, testified).join('\n'))
  if (!agree(report)) process.exitCode = exitCodes.failed
}
