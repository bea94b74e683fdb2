import type { Awaitable } from '../kernel/awaitable.js'
import type { Duration } from '../kernel/duration.js'
import type { IdempotencyKey } from './key.js'
import type { Jsonified } from './plain.js'
import type { Scope } from './scope.js'

/** What a handler holds while it runs. */
export interface Work<Tx = never> {
  /** Whose key it is, the same when a worker goes on without a request. `scopeParts` says what it is made of. */
  readonly scope: Scope
  readonly generation: number
  /** 1 on the first try of this generation. */
  readonly attempt: number
  /** The last phase that committed; `started` when none has. */
  readonly recoveryPoint: string
  /** Aborts when the claim is lost: whatever this handler does from then on may be done by another too. */
  readonly signal: AbortSignal
  /**
   * An atomic phase: its rows, its effects and the recovery point commit together, with what `body` returns. When an
   * earlier attempt has committed it, `body` does not run and the stored result is given. The result passes through JSON
   * the first time too, so that a resume cannot differ.
   *
   * Phases have names of their own and come one after another, in the same order on every attempt. One whose `body` throws
   * never was: it may be begun again, and does not keep a refusal from giving the key back.
   *
   * @example
   * const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input))
   */
  transaction<T>(name: string, body: (at: Phase<Tx>) => Awaitable<T>): Promise<Jsonified<T>>
  /**
   * A foreign phase: one call to the outside. That it begins is durable before the first byte leaves, and so is its result
   * before the handler goes on. What a crash, a timeout or an error means is said by the options; unless they say otherwise
   * it is doubt, and the key becomes `unknown`.
   *
   * @example
   * const charge = await work.call('charge_created', {
   *   run: ({ key, signal }) => gateway.charge(ride, { idempotencyKey: key, signal }),
   *   lookup: ({ key }) => gateway.find(key),
   *   honoursKeyFor: '24h',
   * })
   */
  call<T, I = undefined, R extends ResultNeed = 'required'>(
    name: string,
    options: CallOptions<T, I, R>,
  ): Promise<Called<T, R>>
  /**
   * Business rows and the answer in one commit of the store's database. What `body` returns is the answer, whatever
   * the handler does after it; if the claim is lost by then, the rows roll back and this throws `claim_lost`. When it fails,
   * and none that comes later succeeds, the request has failed, even if the handler catches the error: what it answers then
   * was meant for rows that are not there.
   *
   * @example
   * return work.commit(async ({ tx, effect }) => {
   *   await tx.run({ sql: 'insert into payments (id, cents) values (?, ?)', parameters: [id, cents] })
   *   effect('receipt.send', { paymentId: id })
   *   return { id, cents }
   * })
   */
  commit<T>(body: (at: Phase<Tx>) => Awaitable<T>): Promise<T>
  /** The same as the `effect` that a phase is given: only inside of one that commits. */
  readonly effect: Phase<Tx>['effect']
  /**
   * The key that `call` would send to the provider: for a handler that makes its calls by itself. The same on every attempt.
   * That it was given is durable before it is: a webhook or a ledger that names it finds this request. Ask for it outside of
   * phases.
   *
   * @example
   * const key = await work.downstreamKey('charge')
   */
  downstreamKey(name: string): Promise<string>
  /** A key for another guarded request that is made on behalf of this one. The same on every attempt. */
  childKey(name: string): IdempotencyKey
  /**
   * Keeps the record for longer than its policy says, never for less: for a flow that takes days. Counts from now, and from
   * the answer.
   */
  extend(retention: Duration | 'forever'): Promise<void>
  /**
   * Says that something may or may not have happened. Whatever the handler answers after this, the key becomes
   * `unknown` and nothing runs again until evidence settles it. `code` is a short word for operators, like
   * `gateway_timeout`; it is kept with the record and told in events, so it must hold no data.
   */
  doubt(code: string): void
}

/** What the body of a phase that commits is given. */
export interface Phase<Tx> {
  readonly tx: Tx
  /**
   * Writes one external side effect down, to commit with this phase; a worker carries it out. `payload` passes through JSON.
   *
   * @example
   * effect('receipt.send', { rideId: ride.id })
   */
  effect(kind: string, payload: unknown, options?: EffectOptions): void
}

export interface EffectOptions {
  /** Not before so long from now: less than `retry.within`, which begins now too. */
  readonly delay?: Duration
  /** Effects with the same order are carried out one after another. Without it, the definition's `orderBy` says. */
  readonly order?: string
}

/** How one call to the outside is made, and what is known of its provider. */
export interface CallOptions<T, I = undefined, R extends ResultNeed = 'required'> {
  /**
   * Makes the call. Send `key` along as the provider's idempotency key, and listen to `signal`. What it returns is what the
   * provider answered, even if that comes when its time is over: throw whenever you do not know.
   */
  readonly run: (at: Calling<I>) => Awaitable<T>
  /** What the call is about, if it is not all in the results of earlier phases. Kept, so that every attempt sends the same. */
  readonly input?: I
  /** Asks the provider what became of a call. `undefined`: it cannot say yet. */
  readonly lookup?: (at: { readonly key: string; readonly input: Jsonified<I> }) => Awaitable<LookedUp<T> | undefined>
  /**
   * What an error of `run` means: the provider answered, and nothing happened (`answered`); nothing was sent (`not_sent`);
   * nobody can know (`doubt`, which is what every error means without this).
   */
  readonly classify?: (error: unknown) => CallFailure
  /** How long the provider remembers the key and gives the same answer to it. Without it, it is taken not to. */
  readonly honoursKeyFor?: Duration
  /** Default `'10s'`, or what the lease leaves where that is less. It must end a second before the lease does. */
  readonly timeout?: Duration
  /** How long the provider may take until `lookup` shows what it has done. */
  readonly readLag?: Duration
  /**
   * Whether the handler needs what the call returned. A webhook or a ledger may say only that it landed: then `lookup` is
   * asked for the result, and without one a person is. With `'optional'` the handler goes on, and is given `undefined`.
   * Default `'required'`.
   */
  readonly result?: R
  /**
   * Whether the handler can go on with this. A person who says what a call returned may say something else than the provider
   * would have: what is not accepted is refused to him, and the doubt stays. Without it everything is taken.
   */
  readonly accepts?: (result: unknown) => boolean
}

export type ResultNeed = 'required' | 'optional'

/** What a call gives its handler. */
export type Called<T, R extends ResultNeed> = Jsonified<T> | (R extends 'optional' ? undefined : never)

export type CallFailure = 'answered' | 'not_sent' | 'doubt'

export interface Calling<I> {
  /** The downstream key. */
  readonly key: string
  /** Aborts when the call's time is over, or the claim is lost. Made when it is read: a spread leaves it behind. */
  readonly signal: AbortSignal
  readonly input: Jsonified<I>
  readonly attempt: number
}

/** What a provider says of a call. */
export type LookedUp<T> = { readonly landed: true; readonly result: T } | { readonly landed: false }
