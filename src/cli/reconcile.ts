import type { Command } from 'commander'
import { HapaxError } from '../kernel/errors.js'
import { agree, type Both, compareLedgers, type LedgerReport } from '../workers/ledger.js'
import { workOnce } from '../workers/workers.js'
import { engineArgument, type OpenEngine, withEngine } from './engine.js'
import { exitCodes, thenExit } from './exit.js'
import { ledgerFile, timeOf } from './ledger-file.js'
import { ledgerText } from './ledger-text.js'

const examples = `
Examples:
  hapax reconcile ./dist/hapax.js                             look at all doubts whose time has come, now
  hapax reconcile ./dist/hapax.js --ledger day.csv            compare with what the provider says it has done
  hapax reconcile postgres://hapax_serving@db/app --ledger day.jsonl --since 2026-02-28 --until 2026-03-01
  hapax reconcile ./dist/hapax.js --ledger day.csv --landed settled,captured --operations rides.create
  hapax reconcile ./dist/hapax.js --ledger day.csv --testify  and settle what we did not know

A ledger is CSV with a head, or JSON lines. Columns: key (the downstream key that the provider was sent), and where there
are any id, amount, status, at. Up to two million keys are held at once, some 300 bytes each; more are compared in shorter
windows. What is younger than an hour (--settle) is not judged: it may be on its way.

Exit codes: 0 both sides agree, or the pass is done; 1 they do not, or it failed; 2 wrong usage.`

interface ReconcileFlags {
  readonly schema?: string
  readonly ledger?: string
  readonly since?: string
  readonly until?: string
  readonly settle?: string
  readonly landed?: string
  readonly operations?: string
  readonly testify?: boolean
  readonly json?: boolean
}

/** `hapax reconcile <module-or-database>` */
export function addReconcile(program: Command): void {
  program
    .command('reconcile')
    .description('find out about doubts now, or compare with the ledger of a provider')
    .argument('<engine>', engineArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .option('--ledger <file>', 'compare with this ledger, in both directions')
    .option('--since <time>', 'judge only what began from then on')
    .option('--until <time>', 'judge only what began before then')
    .option('--settle <duration>', 'judge nothing that is younger (default: 1h)')
    .option('--landed <statuses>', 'only lines with one of these statuses say that it was done (default: all)')
    .option('--operations <names>', 'only these operations of ours went to this provider (default: all)')
    .option('--testify', 'keep what the ledger says about our doubts, which settles them')
    .option('--json', 'print one JSON object instead of text')
    .addHelpText('after', examples)
    .action(async (given: string, flags: ReconcileFlags) => {
      const { ledger } = flags
      if (ledger === undefined) refuseWithoutLedger(flags)
      await thenExit(() =>
        withEngine(given, flags.schema, (open) =>
          ledger === undefined ? reconcile(open) : compare(open, ledger, flags),
        ),
      )
    })
}

async function reconcile({ hapax, kind }: OpenEngine): Promise<void> {
  if (kind === 'database') throw usage('To ask providers takes the code of the application: give its module.')
  const off = { sweeper: 'off', resumer: 'off', effects: 'off', reaper: 'off' } as const
  for (const one of await workOnce({ hapax, ...off })) {
    if ('error' in one) throw one.error
    const counts = Object.entries(one.did).map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`)
    console.log(`${one.name}: ${counts.length === 0 ? 'nothing to look at' : counts.join(', ')}`)
  }
}

async function compare({ hapax }: OpenEngine, ledger: string, flags: ReconcileFlags): Promise<void> {
  const [since, until] = [timeOf(flags.since, '--since'), timeOf(flags.until, '--until')]
  const operations = flags.operations?.split(',')
  const report = await compareLedgers({
    hapax,
    ledger: ledgerFile(ledger, flags.landed?.split(',')),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(flags.settle !== undefined && { settle: flags.settle as '1h' }),
    ...(operations !== undefined && { ours: ({ operation }) => operations.includes(operation) }),
  })
  if (flags.testify) for (const one of report.open.first) await testify(hapax, one, ledger)
  console.log(flags.json ? asJson(report, flags) : ledgerText(report, flags.testify ? 'testified' : 'open').join('\n'))
  if (!agree(report)) process.exitCode = exitCodes.failed
}

/** Who lists it says that it was done; what the call would have returned a ledger does not say. */
function testify(hapax: OpenEngine['hapax'], { ours, theirs }: Both, ledger: string): Promise<void> {
  const why = `the ledger ${ledger} has it${theirs.id === undefined ? '' : ` as ${theirs.id}`}`.slice(0, 255)
  return hapax.testify({ downstreamKey: ours.key, says: 'landed', by: 'ledger', why })
}

function asJson(report: LedgerReport, { testify = false }: ReconcileFlags): string {
  return JSON.stringify({ agree: agree(report), testified: testify ? report.open.first.length : 0, ...report })
}

function refuseWithoutLedger(flags: ReconcileFlags): void {
  for (const flag of ['since', 'until', 'settle', 'landed', 'operations', 'testify', 'json'] as const)
    if (flags[flag] !== undefined) throw usage(`--${flag} goes with --ledger.`)
}

function usage(message: string): HapaxError {
  return new HapaxError('store_unknown', message)
}
