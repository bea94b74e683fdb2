import type { Awaitable } from '../kernel/awaitable.js'
import { type Chance, systemChance } from '../kernel/chance.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { type EventName, emitter, type Listener } from '../kernel/events.js'
import { defaults } from '../kernel/limits.js'
import { consoleLog, type Log, loggingSafely } from '../kernel/log.js'
import { abandoned } from './abandoned.js'
import { background } from './background.js'
import { boundedStore } from './bounded-store.js'
import { breaker } from './breaker.js'
import type { Context } from './context.js'
import { execute, openedInTime } from './executing.js'
import { flights } from './flights.js'
import type { Guarded } from './guarded.js'
import { keyOf } from './key.js'
import { type Limiter, limiterOf, type Rate } from './limiter.js'
import { opening } from './opening.js'
import type { Outcome } from './outcome.js'
import { type Accepted, type Done, errorToAnswer, plainResult, plainSource, valueToAnswer } from './plain.js'
import { type Concurrency, type Policy, type PolicyOptions, policyOf } from './policy.js'
import { pulse } from './pulse.js'
import { type QuotaOptions, quotasOf } from './quotas.js'
import type { RecordName, StoredRecord } from './record.js'
import { type ScopeParts, scopeOf } from './scope.js'
import type { Store } from './store.js'
import type { Work } from './work.js'

export interface EngineOptions<Tx> {
  readonly store: Store<Tx>
  /** How long a step of the store may take before the request is refused. */
  readonly storeTimeout?: Duration
  /** How much one tenant may take up. Without it nobody is limited. */
  readonly quotas?: QuotaOptions
  /** How often the answer to one key may be given again: a rate for this process, or a limiter that all nodes share. */
  readonly replays?: Rate | Limiter
  readonly log?: Log
  readonly clock?: Clock
  readonly chance?: Chance
}

export interface RunRequest<C extends Concurrency = Concurrency> {
  /** Whose key it is: the tenant of the authenticated caller, and what binds tighter; not yet a Scope. */
  readonly scope: string | ScopeParts
  readonly key: string
  /** What makes two requests the same: any JSON value, or the bytes of a JSON text as they came. */
  readonly input?: unknown
  readonly policy: Policy<C>
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
  /** What `run` and the HTTP door rest on: answers as bytes, every outcome in one union. */
  execute(guarded: Guarded<Tx>): Awaitable<Outcome>
  /** The record of a key as the store has it, to look at. Whether it may run is only ever said by running it. */
  find(name: RecordName): Promise<StoredRecord | undefined>
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
  let closing: Promise<void> | undefined

  function guard(guarded: Guarded<Tx>): Awaitable<Outcome> {
    if (closing !== undefined) return { kind: 'refused', error: new HapaxError('engine_closed') }
    return execute(context, guarded)
  }

  async function find(name: RecordName): Promise<StoredRecord | undefined> {
    if (closing !== undefined) throw new HapaxError('engine_closed')
    return context.breaker.through(async () => {
      await openedInTime(context)
      return context.store.find(name)
    })
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
      const guarded = {
        scope: scopeOf(request.scope),
        key: keyOf(request.key),
        policy,
        source: plainSource(policy, request.input),
      }
      const outcome = await guard({ ...guarded, handler, toAnswer: valueToAnswer, errorToAnswer })
      return plainResult<T>(outcome) as RunResult<T, C>
    },
    execute: guard,
    find,
    on: context.events.on,
    log: context.log,
    open: context.opening.open,
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
  const bounded = boundedStore(store, storeTimeoutMs, clock, events)
  const inBackground = background(clock)
  return {
    clock,
    chance,
    log: safeLog,
    events,
    store: bounded,
    wholeStore: store,
    storeTimeoutMs,
    opening: opening(store, clock, events),
    abandoned: abandoned(bounded, clock, chance, inBackground),
    background: inBackground,
    flights: flights(),
    pulse: pulse(clock),
    breaker: breaker(clock, chance, events),
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
  if (typeof handler !== 'function') {
    throw new HapaxError('handler_missing', 'Give run() the function that it shall run once, as its second argument.')
  }
}

function warnOfForgetting<Tx>(store: Store<Tx>, log: Log): void {
  if (store.grade !== 'best-effort' || process.env.NODE_ENV !== 'production') return
  log({
    level: 'warn',
    code: 'store_forgets',
    message: `the ${store.name} store may forget: a retry after a restart or failover runs again.`,
  })
}
