import {
  type EffectService,
  type EffectServiceOptions,
  effectReconcilerService,
  effectService,
} from './effect-services.js'
import type { WorkersHost } from './host.js'
import { type LedgerWorkerOptions, ledgerWorker } from './ledger-worker.js'
import { refuse, refuseMisspellings, type WorkerOptions } from './options.js'
import { type ReaperOptions, reaper } from './reaper.js'
import { reconciler } from './reconciler.js'
import { resumer } from './resumer.js'
import type { Service } from './service.js'
import { sweeper } from './sweeper.js'

/** In the order in which their work follows from each other. */
export const workerNames = ['sweeper', 'reconciler', 'effectReconciler', 'resumer', 'effects', 'reaper'] as const

export type WorkerName = (typeof workerNames)[number]

/** Which workers run, and how. Each may be `'off'`: on this node others do it, or nobody should. */
export interface ServicesOptions {
  readonly sweeper?: WorkerOptions | 'off'
  readonly reconciler?: WorkerOptions | 'off'
  readonly resumer?: WorkerOptions | 'off'
  readonly reaper?: ReaperOptions | 'off'
  /** Carries out effects, where the engine has any. */
  readonly effects?: EffectServiceOptions | 'off'
  /** Finds out about effects that are in doubt. */
  readonly effectReconciler?: Pick<WorkerOptions, 'every'> | 'off'
  /** Compares the ledgers of providers with ours, daily. Without it, nobody does: only you know where those are. */
  readonly ledger?: LedgerWorkerOptions
}

export type NamedServices = Partial<Readonly<Record<WorkerName | 'ledger', Service>>> & {
  readonly effects?: EffectService
}

const paced = ['every', 'batch']
const known: Readonly<Record<WorkerName, readonly string[]>> = {
  sweeper: paced,
  reconciler: paced,
  resumer: paced,
  reaper: [...paced, 'pause', 'keepEffects', 'keepEvents'],
  effects: ['concurrency', 'batch', 'lease'],
  effectReconciler: ['every'],
}

export function servicesOf<Tx>(host: WorkersHost<Tx> | undefined, options: ServicesOptions): NamedServices {
  if (typeof host?.chores?.sweep !== 'function') refuse('startWorkers({ hapax }) needs the engine that they work for.')
  refuseMisspellings('startWorkers()', options, ['hapax', ...workerNames, 'ledger'])
  for (const name of workerNames) refuseWrongOptions(name, options[name])
  const all: Readonly<Record<WorkerName, () => Service | undefined>> = {
    sweeper: () => sweeper(host, on(options.sweeper)),
    reconciler: () => reconciler(host, on(options.reconciler)),
    resumer: () => resumer(host, on(options.resumer)),
    reaper: () => reaper(host, on(options.reaper)),
    effects: () => effectService(host, on(options.effects)),
    effectReconciler: () => effectReconcilerService(host, on(options.effectReconciler)),
  }
  const made: { -readonly [Name in keyof NamedServices]: Service } = {}
  for (const name of workerNames) {
    const service = options[name] === 'off' ? undefined : all[name]()
    if (service !== undefined) made[name] = service
  }
  const { ledger } = options
  if (ledger !== undefined) {
    refuseMisspellings('ledger', ledger, ['providers', 'every', 'settle'])
    made.ledger = ledgerWorker(host, ledger)
  }
  return made as NamedServices
}

function on<Options extends object>(options: Options | 'off' | undefined): Options | undefined {
  return options === 'off' ? undefined : options
}

function refuseWrongOptions(name: WorkerName, given: unknown): void {
  if (given === undefined || given === 'off') return
  if (typeof given !== 'object' || given === null) refuse(`${name} is 'off', or an object with its options.`)
  refuseMisspellings(name, given, known[name])
}
