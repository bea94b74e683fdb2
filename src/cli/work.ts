import type { Command } from 'commander'
import { HapaxError } from '../kernel/errors.js'
import { type ServicesOptions, type WorkerName, workerNames } from '../workers/services.js'
import { startWorkers, type WorkDone, workOnce } from '../workers/workers.js'
import { engineArgument, type OpenEngine, withEngine } from './engine.js'
import { exitCodes, thenExit } from './exit.js'
import { stopSignal } from './stop-signal.js'

const examples = `
Examples:
  hapax work ./dist/hapax.js                          all workers, with the operations and effects of the application
  hapax work ./dist/hapax.js --only effects           this process carries out effects and nothing else
  hapax work postgres://hapax_serving@db/app          sweeper and reaper, which need no code of the application
  hapax work ./dist/hapax.js --once                   one pass of each, for cron

A module is ESM and exports its engine as hapax, or by default, with all operations defined. Any number of processes may
work on one database. SIGINT or SIGTERM lets what runs finish, within nine seconds; a second one ends it at once.

Workers: ${workerNames.join(', ')}.

Exit codes: 0 stopped or done, 1 failed, 2 wrong usage.`

interface WorkFlags {
  readonly schema?: string
  readonly only?: string
  readonly once?: boolean
  readonly verbose?: boolean
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
    .addHelpText('after', examples)
    .action(async (given: string, flags: WorkFlags) => {
      const only = namesIn(flags.only)
      await thenExit(() =>
        withEngine(given, flags.schema, (open) =>
          flags.once ? worked(open, chosen(open, only)) : work(open, chosen(open, only), flags),
        ),
      )
    })
}

/** Those that are wanted, and that can be had: without the code of the application nothing can be run or asked. */
function chosen({ kind }: OpenEngine, only: readonly WorkerName[]): readonly WorkerName[] {
  if (kind === 'module') return only
  const able = only.filter((name) => name === 'sweeper' || name === 'reaper')
  if (able.length > 0) return able
  throw usage(`${only.join(' and ')} need the code of the application: give its module instead of a database.`)
}

function optionsFor(names: readonly WorkerName[]): ServicesOptions {
  return Object.fromEntries(workerNames.filter((name) => !names.includes(name)).map((name) => [name, 'off']))
}

async function worked({ hapax }: OpenEngine, names: readonly WorkerName[]): Promise<void> {
  const done = await workOnce({ hapax, ...optionsFor(names) })
  for (const one of done) console.log(asLine(one))
  if (done.some((one) => 'error' in one)) process.exitCode = exitCodes.failed
}

async function work(open: OpenEngine, names: readonly WorkerName[], { verbose }: WorkFlags): Promise<void> {
  const { hapax, kind, label } = open
  const stop = stopSignal()
  const workers = startWorkers({ hapax, ...optionsFor(names) })
  const running = workers.status().map(({ name }) => name)
  const without = kind === 'database' ? '; operations, doubts and effects need a module of the application' : ''
  console.log(`hapax works on ${label}: ${running.join(', ')}${without}`)
  hapax.on('worker_passed', ({ worker, did }) => {
    if (verbose || Object.keys(did).length > 0) console.log(asLine({ name: worker, did }))
  })
  await stop
  console.log('hapax stops: what runs may finish')
  await workers.stop()
}

function asLine(one: { readonly name: string; readonly did: object } | WorkDone): string {
  if ('error' in one) return `${one.name}: failed (${one.error instanceof Error ? one.error.message : one.error})`
  const counts = Object.entries(one.did).map(([what, count]) => `${count} ${what.replaceAll('_', ' ')}`)
  return `${one.name}: ${counts.length === 0 ? 'nothing to do' : counts.join(', ')}`
}

function namesIn(only: string | undefined): readonly WorkerName[] {
  if (only === undefined) return workerNames
  const names = only.split(',').map((name) => name.trim())
  for (const name of names)
    if (!(workerNames as readonly string[]).includes(name))
      throw usage(`There is no worker "${name}"; there are ${workerNames.join(', ')}.`)
  return names as WorkerName[]
}

function usage(message: string): HapaxError {
  return new HapaxError('store_unknown', message)
}
