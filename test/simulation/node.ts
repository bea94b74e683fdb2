import { type Engine, engine } from '../../src/engine/engine.js'
import { handle } from '../../src/http/door.js'
import type { Exchange, Reply } from '../../src/http/exchange.js'
import { type Inbox, inbox } from '../../src/inbox/inbox.js'
import { defaults } from '../../src/kernel/limits.js'
import type { Service } from '../../src/workers/service.js'
import { type ServicesOptions, servicesOf, type WorkerName, workerNames } from '../../src/workers/services.js'
import type { Curt, OnFailure, Order, Program } from './application.js'
import type { SimulatedDatabase } from './database/database.js'
import { type SimulatedStore, simulatedStore } from './database/simulated-store.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import { type EffectKindName, effectsOf } from './effect-kinds.js'
import { startLoops } from './loops.js'
import { misspelt } from './misspelt.js'
import { type Mounted, mounted } from './programs.js'
import type { Act, Provider } from './provider.js'
import type { Reached } from './reached.js'
import { seeded } from './world/choices.js'
import { newProcess, type Process } from './world/process.js'
import type { World } from './world/world.js'

/** A process of ours: the real engine, door, workers and inbox. */
export interface SimulatedNode {
  readonly process: Process
  readonly hapax: Engine<SimulatedTx>
  /** What people do to its records, as the store does it. */
  readonly settle: SimulatedStore['settle']
  /** Made when they are first asked for: most schedules need few of them. */
  readonly worker: (name: WorkerName) => Service | undefined
  /** From now on these work by themselves. */
  readonly startLoops: (names: readonly WorkerName[]) => void
  readonly webhooks: (service: string) => Inbox
  /** The order as it arrives now: one without a key has the key that the door is about to mint. */
  received(order: Order): Order
  answer(program: Program, order: Order): Promise<Reply>
}

export interface NodeContext {
  readonly world: World
  readonly database: SimulatedDatabase
  readonly provider: Provider
  /** Those that anybody asks for: only who knows an operation can go on with it. */
  readonly programs: readonly Program[]
  /** Those that they may ask for. */
  readonly kinds: ReadonlySet<EffectKindName>
  /** What a duplicate gets while the first still runs: nothing yet, or that one's answer. */
  readonly concurrency: 'reject' | 'wait'
  /** What a failure means to programs that leave their calls to the engine; `undefined`: their clients try again. */
  readonly onFailure: OnFailure | undefined
  /** Where what arrives together travels together to the database: how many statements of one kind do so at once. */
  readonly lanes: number | undefined
  /** Who says of what landed only that it did. */
  readonly curt: Curt | undefined
  /** What is noted while something can still go wrong; `undefined` afterwards. */
  readonly reached: () => Reached | undefined
}

export function startNode(name: string, around: NodeContext): SimulatedNode {
  const { world, database, provider, programs, kinds, lanes, concurrency, onFailure, curt } = around
  const process = world.add(newProcess(name, 'node'))
  const fraction = seeded(name.charCodeAt(5) * 31 + name.charCodeAt(name.length - 1))
  let ids = 0
  const idOf = (count: number) => `${name}, ${count}`
  /** The first that is drawn for a request is its claim's, or its key's where it sent none: no claim has that. */
  const drawn = () => {
    const id = idOf(++ids)
    if (world.task !== undefined) world.task.firstId ??= id
    return id
  }
  const clock = world.clockOf(process)
  const batching =
    lanes === undefined
      ? 'off'
      : {
          lanes,
          clock,
          patienceMs: defaults.storeTimeoutMs,
          gather: (send: () => void) => world.atEndOfTurn(process, send),
          onShared: (underWay: number) => noteShared(underWay, around.reached()),
        }
  const store = simulatedStore(database, world, process, batching)
  const hapax = engine<SimulatedTx>({
    store,
    clock,
    chance: { fraction, id: drawn },
    effects: effectsOf({ process, provider }, kinds),
    log: () => {},
  })
  if (concurrency === 'wait') hapax.on('shared', () => around.reached()?.note('an answer that was waited for'))
  if (curt !== undefined)
    hapax.on('looked_in_vain', ({ errorCode }) => {
      if (errorCode === 'evidence_contradicted') around.reached()?.note('a lookup that contradicts what was said')
    })
  const routes = new Map<Program, Mounted>()
  const workers = new Map<WorkerName, Service | undefined>()
  const webhooks = new Map<string, Inbox>()

  function routeOf(program: Program): Mounted {
    const known =
      routes.get(program) ??
      mounted(program, { hapax, process, provider, concurrency, onFailure, reached: around.reached })
    routes.set(program, known)
    return known
  }

  return {
    process,
    hapax,
    settle: store.settle,
    startLoops(names) {
      for (const program of programs) routeOf(program)
      hapax.on('worker_failed', () => around.reached()?.note('a worker whose pass failed, and that goes on'))
      startLoops(names, { world, process, hapax })
    },
    worker(name) {
      if (workers.size === 0) for (const program of programs) routeOf(program)
      if (!workers.has(name)) workers.set(name, servicesOf(hapax, alone.get(name) ?? nobody)[name])
      return workers.get(name)
    },
    webhooks(service) {
      const known = webhooks.get(service) ?? webhooksOf(hapax, service, curt)
      webhooks.set(service, known)
      return known
    },
    received: (order) => (order.isKeyless ? { ...order, key: idOf(ids + 1) } : order),
    async answer(program, order) {
      const { route, handler } = routeOf(program)
      const handled = await handle(hapax, exchangeOf(program, order, handler), route, { order })
      if (handled.kind !== 'reply') throw new Error('unreachable: every program guards POST')
      return handled.reply
    },
  }
}

function noteShared(underWay: number, reached: Reached | undefined): void {
  reached?.note('a statement for several requests')
  if (underWay > 1) reached?.note('two statements for several requests at once')
}

/** Every worker off: whoever asks for one turns it on. */
const nobody = Object.fromEntries(workerNames.map((name) => [name, 'off'])) as Readonly<Record<WorkerName, 'off'>>

const alone = new Map<WorkerName, ServicesOptions>(workerNames.map((name) => [name, { ...nobody, [name]: {} }]))

function exchangeOf(program: Program, order: Order, handler: Mounted['handler']): Exchange<SimulatedTx> {
  // Who asks is known by other means, as behind a login: two tenants may send the same bytes, and so may two keys.
  const { amount, item, isHushedUp, hasFee } = order
  const body = Buffer.from(JSON.stringify({ amount, item, isHushedUp, hasFee }))
  const lines: Readonly<Record<string, readonly string[]>> = {
    'content-type': ['application/json'],
    'idempotency-key': keyLines(order),
  }
  return {
    method: 'POST',
    target: `/${program}`,
    lines: (name) => lines[name] ?? [],
    body: () => body,
    run: (work) => handler?.(work, order),
    captured(value) {
      const { status, body } = value as { status: number; body: unknown }
      const text = JSON.stringify(body)
      const location = `/${program}/${text.length}`
      return {
        status,
        headers: [
          ['content-type', 'application/json'],
          ['location', location],
        ],
        // As old applications write: these bytes are no UTF-8.
        body: Buffer.from(text, 'latin1'),
      }
    },
  }
}

function keyLines({ key, isKeyless, misspelt: how }: Order): readonly string[] {
  if (how !== undefined) return misspelt(key, how)
  return isKeyless ? [] : [`"${key}"`]
}

/** A service whose signatures are right, and who tells what it did. */
function webhooksOf(hapax: Engine<SimulatedTx>, provider: string, curt: Curt | undefined): Inbox {
  return inbox<SimulatedTx, Act>({
    hapax,
    provider,
    verify: ({ headers }) => ({ eventId: headers.get('event-id') ?? '' }),
    parse: (json) => json as Act,
    async handle({ event, tx, evidence }) {
      // A row for each time that it is worked on: of each event there may be one.
      await tx.insert('events', `${event.id} at ${hapax.clock.elapsed()} by ${hapax.chance.id()}`)
      const returned = curt === 'webhooks' ? {} : { result: { id: event.id } }
      evidence({ downstreamKey: event.key, says: 'landed', ...returned, why: 'it was done' })
    },
  })
}
