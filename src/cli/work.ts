import type { Command } from 'commander'
import { type ServicesOptions, type WorkerName, workerNames } from '../workers/services.js'
import { startWorkers, type WorkDone, workOnce } from '../workers/workers.js'
import { engineArgument, type OpenEngine, withEngine } from './engine.js'
import { exitCodes, thenExit } from './exit.js'
import { metricsPage, type Place, placeOf } from './metrics-page.js'
import { stopSignal } from './stop-signal.js'
import { namesIn, usage } from './usage.js'

const examples = `
Examples:
  hapax work ./dist/hapax.js                          all workers, with the operations and effects of the application
  hapax work ./dist/hapax.js --only effects           this process carries out effects and nothing else
  hapax work postgres://hapax_serving@db/app          sweeper and reaper, which need no code of the application
  hapax work ./dist/hapax.js --metrics 9464           and http://127.0.0.1:9464/metrics for Prometheus
  hapax work ./dist/hapax.js --once                   one pass of each, for cron

A module is ESM and exports its engine as hapax, or by default, with all operations defined. Any number of processes may
work on one database. SIGINT or SIGTERM lets what runs finish: the workers within nine seconds, then the engine within nine.
A second one ends it at once. With --metrics the alerts can see these workers, and miss them when they are gone.

Workers: ${workerNames.join(', ')}.

Exit codes: 0 stopped or done, 1 failed, 2 wrong usage.`

interface WorkFlags {
  readonly schema?: string
  readonly only?: string
  readonly once?: boolean
  readonly verbose?: boolean
  readonly metrics?: string
}

/** `hapax work <module-or-database>` */
export function addWork(program: Command): void {
  program
    .command('work')
    .description('run the workers: leases that ran out, work left half-done, doubts, effects, retention')
    .argument('<engine>', engineArgument)
    .option('--schema <name>', 'the schema in PostgreSQL, with a database (default: hapax)')
    .option('--only <names>', 'only these workers, separated by commas')
    .option('--once', 'make one pass of each worker and exit')
    .option('--verbose', 'print passes that found nothing to do as well')
    .option('--metrics <place>', 'serve metrics for Prometheus at this port of the loopback, or at <host>:<port>')
    .addHelpText('after', examples)
    .action(async (given: string, flags: WorkFlags) => {
      const only = workersIn(flags.only)
      const place = flags.metrics === undefined ? undefined : placeOf(flags.metrics)
      if (flags.once && place) throw usage('--once is over before anybody could read --metrics. Leave one of them out.')
      await thenExit(() =>
        withEngine(given, flags.schema, (open) =>
          flags.once ? worked(open, chosen(open, only)) : work(open, chosen(open, only), flags, place),
        ),
      )
    })
}

/** Those that can be had, or those that were asked for: whoever names one that would not run is told so. */
function chosen(open: OpenEngine, only: readonly WorkerName[] | undefined): readonly WorkerName[] {
  if (only === undefined) return workerNames.filter((name) => whyNot(open, name) === undefined)
  for (const name of only) {
    const reason = whyNot(open, name)
    if (reason !== undefined) throw usage(`The worker "${name}" cannot run here: ${reason}`)
  }
  return only
}

/** Without the code of the application nothing can be run or asked. */
function whyNot({ kind, label, hapax }: OpenEngine, name: WorkerName): string | undefined {
  if (name === 'sweeper' || name === 'reaper') return undefined
  if (kind === 'database') return 'it needs the code of the application. Give its module instead of a database.'
  if (name !== 'effects' && name !== 'effectReconciler') return undefined
  if (hapax.outbox === undefined) return `the store of ${label} keeps no effects.`
  return (hapax.effects?.kinds.size ?? 0) > 0 ? undefined : `the engine of ${label} was given no effects.`
}

function optionsFor(names: readonly WorkerName[]): ServicesOptions {
  return Object.fromEntries(workerNames.filter((name) => !names.includes(name)).map((name) => [name, 'off']))
}

async function worked({ hapax }: OpenEngine, names: readonly WorkerName[]): Promise<void> {
  const done = await workOnce({ hapax, ...optionsFor(names) })
  for (const one of done) console.log(asLine(one))
  if (done.some((one) => 'error' in one)) process.exitCode = exitCodes.failed
}

async function work(
  open: OpenEngine,
  names: readonly WorkerName[],
  { verbose }: WorkFlags,
  place: Place | undefined,
): Promise<void> {
  const { hapax, kind, label } = open
  const stop = stopSignal()
  // Before the first pass, so that each is counted.
  const page = place && (await metricsPage(hapax, place))
  const workers = startWorkers({ hapax, ...optionsFor(names) })
  const running = workers.status().map(({ name }) => name)
  const without = kind === 'database' ? '; operations, doubts and effects need a module of the application' : ''
  console.log(`hapax works on ${label}: ${running.join(', ')}${without}`)
  if (page) console.log(`hapax serves metrics at ${page.url}`)
  hapax.on('worker_passed', ({ worker, did }) => {
    if (verbose || Object.keys(did).length > 0) console.log(asLine({ name: worker, did }))
  })
  await stop
  console.log('hapax stops: what runs may finish')
  await workers.stop()
  await page?.close()
}

function asLine(one: { readonly name: string; readonly did: object } | WorkDone): string {
  if ('error' in one) return `${one.name}: failed (${one.error instanceof Error ? one.error.message : one.error})`
  const counts = Object.entries(one.did).map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`)
  return `${one.name}: ${counts.length === 0 ? 'nothing to do' : counts.join(', ')}`
}

function workersIn(only: string | undefined): readonly WorkerName[] | undefined {
  const names = namesIn('--only', only)
  for (const name of names ?? [])
    if (!(workerNames as readonly string[]).includes(name))
      throw usage(`There is no worker "${name}"; there are ${workerNames.join(', ')}.`)
  return names as readonly WorkerName[] | undefined
}
