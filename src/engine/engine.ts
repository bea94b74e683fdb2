import type { Awaitable } from '../kernel/awaitable.js'
import { type Chance, systemChance } from '../kernel/chance.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { type Emitter, type EventName, emitter, type Listener } from '../kernel/events.js'
import { defaults, telemetryBounds } from '../kernel/limits.js'
import { consoleLog, type Log, loggingSafely } from '../kernel/log.js'
import type { Tracing } from '../kernel/tracing.js'
import { abandoned } from './abandoned.js'
import { background } from './background.js'
import { boundedStore } from './bounded-store.js'
import { breaker } from './breaker.js'
import type { CallStore } from './call-store.js'
import { type Chores, chores, type Heard } from './chores.js'
import type { Context } from './context.js'
import type { Effects } from './effect-definition.js'
import type { EffectStore } from './effect-store.js'
import { execute } from './executing.js'
import { flights } from './flights.js'
import type { Guarded } from './guarded.js'
import type { InboxStore } from './inbox-store.js'
import { keptReplaysOf } from './kept-replays.js'
import { keyOf } from './key.js'
import { type Limiter, limiterOf, type Rate } from './limiter.js'
import type { Measured } from './measured.js'
import { openedInTime } from './opened.js'
import { opening } from './opening.js'
import { type Operating, operating } from './operating.js'
import {
  type Operation,
  type OperationOptions,
  operations,
  type Performed,
  plainWording,
  type Wording,
} from './operation.js'
import type { Outcome } from './outcome.js'
import { type Accepted, type Done, errorToAnswer, jsonText, plainResult, plainSource, valueToAnswer } from './plain.js'
import { type Concurrency, type Policy, type PolicyOptions, policyOf } from './policy.js'
import { progressCodec } from './progress.js'
import { pulse } from './pulse.js'
import { type QuotaOptions, quotasOf } from './quotas.js'
import type { RecordName, StoredRecord } from './record.js'
import type { ReplayCacheOptions } from './replay-cache.js'
import { guardedOperation } from './resuming.js'
import { type ScopeParts, scopeOf } from './scope.js'
import { type EncryptionOptions, sealerOf } from './sealing.js'
import type { Store } from './store.js'
import { storeFailures } from './store-failures.js'
import { type CallEvidence, testimonyOf } from './testimony.js'
import type { Work } from './work.js'

export interface EngineOptions<Tx> {
  readonly store: Store<Tx>
  /** How long a step of the store may take before the request is refused. */
  readonly storeTimeout?: Duration
  /** How much one tenant may take up. Without it nobody is limited. */
  readonly quotas?: QuotaOptions
  /** How often the answer to one key may be given again: a rate for this process, or a limiter that all nodes share. */
  readonly replays?: Rate | Limiter
  /**
   * Answers of the last seconds, which are given again without asking the store, even while it is down. On by default, unless
   * the store is of grade `best-effort` and so no slower; `'off'` asks the store each time.
   */
  readonly replayCache?: ReplayCacheOptions | 'off'
  /** The effects of the application: `effects({ … })`. */
  readonly effects?: Effects<unknown, Tx>
  /** Encrypts the inputs of operations and the results of phases at rest. */
  readonly encryption?: EncryptionOptions
  /** Traces every guarded request, such as `openTelemetryTracing()`. Without it nothing is built or stored for it. */
  readonly tracing?: Tracing
  readonly log?: Log
  readonly clock?: Clock
  readonly chance?: Chance
}

/** An operation to run, once per key. */
export interface OperationRequest<Tx, Input, Output> {
  readonly scope: string | ScopeParts
  readonly key: string
  readonly operation: Operation<Tx, Input, Output>
  readonly input: Input
}

export interface RunRequest<C extends Concurrency = Concurrency> {
  /** Whose key it is: the tenant of the authenticated caller, and what binds tighter; not yet a Scope. */
  readonly scope: string | ScopeParts
  readonly key: string
  /** What makes two requests the same: any JSON value, or the bytes of a JSON text as they came. */
  readonly input?: unknown
  readonly policy: Policy<C>
  /** With `mode: 'transaction'`: a transaction that you opened, and will commit. Until then nothing of this has happened. */
  readonly joins?: unknown
}

type RunResult<T, C extends Concurrency> = 'accept' extends C ? Done<T> | Accepted : Done<T>

export interface Engine<Tx> {
  /** Checks a policy, once, at start. */
  policy<C extends Concurrency = 'reject'>(options: PolicyOptions & { readonly concurrency?: C }): Policy<C>
  /**
   * Runs a function once per key. A retry gets the first result; whatever else the key holds is thrown as a
   * HapaxError, and then nothing ran.
   *
   * @example
   * const { value, replayed } = await hapax.run({ scope: 'acme', key, input, policy }, async (work) => charge(input))
   */
  run<T, C extends Concurrency>(
    request: RunRequest<C>,
    handler: (work: Work<Tx>) => Promise<T>,
  ): Promise<RunResult<T, C>>
  /**
   * Defines a named, versioned handler over a stored input. Bind routes to it, run it by `perform`, and let workers finish
   * what a crash left half-done.
   *
   * @example
   * const createRide = hapax.operation('rides.create', { version: 1, retention: '7d' }, async (work, input: Ride) => {
   *   const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input))
   *   return work.commit(() => ({ status: 201, body: ride }))
   * })
   */
  operation<Input, Output>(
    name: string,
    options: OperationOptions,
    handler: (work: Work<Tx>, input: Input) => Awaitable<Output>,
  ): Operation<Tx, Input, Output>
  /** Runs an operation once per key, as `run` does a function. */
  perform<Input, Output>(request: OperationRequest<Tx, Input, Output>): Promise<Done<Performed<Output>>>
  /**
   * Gives an operation the policy of a route that it is bound to: what its profile says, where the operation says nothing.
   * What workers answer is written as the route would have.
   */
  bound(operation: Operation<Tx, never>, defaults: Partial<PolicyOptions>, wording: Wording): Policy
  /**
   * Keeps what somebody says about a call or an effect, by its downstream key, and settles what is in doubt about it. Gives
   * what came of it: that a call landed may be too little, where its handler needs what it returned.
   */
  testify(evidence: CallEvidence): Promise<Heard>
  /** What operators do: see `hapax/admin`. */
  readonly operating: Operating
  /** What workers do. */
  readonly chores: Chores
  /** The effects that the engine was given. */
  readonly effects: Effects<unknown, Tx> | undefined
  /** The parts of the store that workers and webhooks use by themselves; `undefined` where the store has none. */
  readonly outbox: EffectStore<Tx> | undefined
  readonly inbox: InboxStore<Tx> | undefined
  readonly calls: CallStore | undefined
  /** The clock and the chance that it was given. */
  readonly clock: Clock
  readonly chance: Chance
  readonly events: Emitter
  /** What `run` and the HTTP door rest on: answers as bytes, every outcome in one union. */
  execute(guarded: Guarded<Tx>): Awaitable<Outcome>
  /** The record of a key as the store has it, to look at. Whether it may run is only ever said by running it. */
  find(name: RecordName): Promise<StoredRecord | undefined>
  /** What the store holds, counted within bounds; `undefined` where it cannot say. */
  measure(): Promise<Measured | undefined>
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void
  /** Where the engine says what its callers are not told. */
  readonly log: Log
  /** Opens the store. Call it at start, so that a database that is missing or too old is found then. */
  open(): Promise<void>
  /** Takes no new work, lets what runs finish within a bound, then closes the store. */
  close(): Promise<void>
}

/**
 * The engine: one store, and everything that is guarded by it.
 *
 * @example
 * const hapax = engine({ store: sqliteStore({ path: 'hapax.db' }) })
 */
export function engine<Tx = never>(options: EngineOptions<Tx>): Engine<Tx> {
  const context = contextOf(options)
  const doing = chores(context)
  let closing: Promise<void> | undefined

  function guard(guarded: Guarded<Tx>): Awaitable<Outcome> {
    if (closing !== undefined) return { kind: 'refused', error: new HapaxError('engine_closed') }
    return execute(context, guarded)
  }

  /** Stores are given a name and nothing else, whatever the caller's object holds besides. */
  async function find({ scope, key }: RecordName): Promise<StoredRecord | undefined> {
    if (closing !== undefined) throw new HapaxError('engine_closed')
    return context.breaker.through(async () => {
      await openedInTime(context)
      return context.store.find({ scope, key })
    })
  }

  async function measure(): Promise<Measured | undefined> {
    if (closing !== undefined) throw new HapaxError('engine_closed')
    await openedInTime(context)
    return context.store.measure?.(telemetryBounds.countedRows)
  }

  function openedInbox(inbox: InboxStore<Tx>): InboxStore<Tx> {
    return {
      async receive(event, body) {
        if (closing !== undefined) throw new HapaxError('engine_closed')
        await openedInTime(context)
        return context.background.track(inbox.receive(event, body))
      },
      async reap(limit, keepMs) {
        await openedInTime(context)
        return inbox.reap(limit, keepMs)
      },
    }
  }

  async function closeOnce(): Promise<void> {
    await context.background.drain(defaults.drainMs, defaults.lastWordsMs)
    context.pulse.stop()
    await context.opening.close()
  }

  warnOfForgetting(options.store, context.log)
  return {
    policy: (options) => policyOf(options, context),
    async run<T, C extends Concurrency>(request: RunRequest<C>, handler: (work: Work<Tx>) => Promise<T>) {
      const { policy } = request
      refuseMissing(policy, handler)
      refuseJoining(policy, request.joins)
      const guarded = {
        scope: scopeOf(request.scope),
        key: keyOf(request.key),
        policy,
        source: plainSource(policy, request.input),
        joins: request.joins,
      }
      const outcome = await guard({ ...guarded, handler, toAnswer: valueToAnswer, errorToAnswer })
      return plainResult<T>(outcome) as RunResult<T, C>
    },
    operation(name, options, handler) {
      const all: PolicyOptions = {
        onCrash: options.mode === 'transaction' ? undefined : 'retry',
        ...options,
        name,
      } as PolicyOptions
      const operation = { name, options: all, handler }
      refuseNoHandler(handler, `operation("${name}")`)
      context.operations.add({ operation, policy: policyOf(all, context), wording: plainWording })
      return operation
    },
    async perform({ scope, key, operation, input }) {
      const held = context.operations.find(operation.name)
      if (held === undefined)
        throw new HapaxError('operation_unknown', `Operation "${operation.name}" was not made by this engine.`)
      const guarded = guardedOperation(
        { ...held, wording: plainWording },
        { scope: scopeOf(scope), key: keyOf(key) },
        jsonText(input ?? null, 'input'),
      )
      return plainResult(await guard(guarded)) as Done<never>
    },
    bound(operation, defaults, wording) {
      const policy = policyOf({ ...defaults, ...operation.options }, context)
      context.operations.bind(operation.name, { policy, wording })
      return policy
    },
    async testify(evidence) {
      const testimony = testimonyOf(evidence)
      const { calls } = options.store
      if (calls === undefined)
        throw new HapaxError('transaction_unsupported', `The ${options.store.name} store keeps no evidence.`)
      await openedInTime(context)
      await calls.testify(testimony)
      const [heard = 'kept'] = await doing.testified([testimony])
      return heard
    },
    operating: operating(context, options.quotas),
    chores: doing,
    effects: options.effects,
    outbox: options.store.effects,
    inbox: options.store.inbox && openedInbox(options.store.inbox),
    calls: options.store.calls,
    clock: context.clock,
    chance: context.chance,
    events: context.events,
    execute: guard,
    find,
    measure,
    on: context.events.on,
    log: context.log,
    async open() {
      if (closing !== undefined) throw new HapaxError('engine_closed')
      await context.opening.open()
    },
    close() {
      closing ??= closeOnce()
      return closing
    },
  }
}

function contextOf<Tx>(options: EngineOptions<Tx>): Context<Tx> {
  const { store, clock = systemClock, chance = systemChance, log = consoleLog } = options
  if (typeof store?.reserve !== 'function') {
    throw new HapaxError(
      'store_unknown',
      "engine({ store }) needs a store, like sqliteStore({ path }) from 'hapax/sqlite'.",
    )
  }
  const safeLog = loggingSafely(log)
  const events = emitter(safeLog)
  const storeTimeoutMs =
    options.storeTimeout === undefined ? defaults.storeTimeoutMs : parseDuration(options.storeTimeout, 'storeTimeout')
  const tell = storeFailures(events, safeLog, clock)
  const bounded = boundedStore(store, { timeoutMs: storeTimeoutMs, clock, events, tell })
  const inBackground = background(clock)
  options.tracing?.hear?.(events)
  return {
    clock,
    chance,
    log: safeLog,
    events,
    store: bounded,
    wholeStore: store,
    storeTimeoutMs,
    opening: opening(store, clock, events, tell),
    abandoned: abandoned(bounded, clock, chance, inBackground),
    background: inBackground,
    flights: flights(),
    cache: keptReplaysOf(options.replayCache, store.grade, clock),
    pulse: pulse(clock, 'weakly'),
    breaker: breaker(clock, chance, events),
    tracing: options.tracing,
    progress: progressCodec(sealerOf(options.encryption)),
    effects: options.effects,
    operations: operations(),
    quotas: options.quotas === undefined ? undefined : quotasOf(options.quotas, { clock, store: bounded, events }),
    replays: options.replays === undefined ? undefined : limiterOf(options.replays, 'replays'),
  }
}

function refuseMissing(policy: Policy | undefined, handler: unknown): void {
  if (typeof policy?.meaningOf !== 'function') {
    throw new HapaxError(
      'policy_invalid',
      "Give run() a policy that was made by hapax.policy({ name: 'payments.create' }).",
    )
  }
  refuseNoHandler(handler, 'run()')
}

function refuseNoHandler(handler: unknown, where: string): void {
  if (typeof handler === 'function') return
  throw new HapaxError('handler_missing', `Give ${where} the function that it shall run once, as its last argument.`)
}

function refuseJoining(policy: Policy, joins: unknown): void {
  if (joins === undefined || policy.mode === 'transaction') return
  const message = `Policy "${policy.name}": only with mode: 'transaction' can a request join a transaction of yours.`
  throw new HapaxError('policy_invalid', message)
}

function warnOfForgetting<Tx>(store: Store<Tx>, log: Log): void {
  if (store.grade !== 'best-effort' || process.env.NODE_ENV !== 'production') return
  log({
    level: 'warn',
    code: 'store_forgets',
    message: `the ${store.name} store may forget: a retry after a restart or failover runs again.`,
  })
}
