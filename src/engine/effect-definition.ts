import type { Awaitable } from '../kernel/awaitable.js'
import type { Duration } from '../kernel/duration.js'
import type { Scope } from './scope.js'
import type { CallFailure, LookedUp } from './work.js'

/** What the call of an effect is given. */
export interface EffectCall<Payload> {
  readonly payload: Payload
  /** What the provider gets as its idempotency key: the same on every attempt. */
  readonly key: string
  readonly scope: Scope
  /** Aborts when the time of the call is over, or the claim on the effect is lost. Made when it is read: a spread leaves it behind. */
  readonly signal: AbortSignal
  /** Counts claims, from 1. */
  readonly attempt: number
}

/** What everything else that concerns an effect is given. */
export type EffectAbout<Payload> = Pick<EffectCall<Payload>, 'payload' | 'key' | 'scope'>

/** What a queue or an endpoint is sent instead of a call. */
export interface RelayMessage {
  readonly effectId: number
  readonly kind: string
  readonly key: string
  readonly payload: unknown
}

/** Hands a message over. What it resolves is sent, as far as anybody knows; the row stays the truth. */
export type Relay = (message: RelayMessage) => Promise<void>

export interface RetryOptions {
  /** How often it is tried in all. */
  readonly attempts?: number
  /** How long after it was written it is tried again. */
  readonly within?: Duration
  /** The longest pause after the first failure; it doubles with each, and chance takes a part of it. */
  readonly first?: Duration
  /** The longest pause at all. */
  readonly max?: Duration
}

/** How effects of one kind are carried out. Everything has a default but `call`. */
export interface EffectDefinition<Payload, Result, Tx> {
  /** Does it. What it returns passes through JSON. */
  readonly call: (call: EffectCall<Payload>) => Promise<Result> | Result
  /** Asks the provider whether it was done. */
  readonly lookup?: (about: EffectAbout<Payload>) => Awaitable<LookedUp<Result> | undefined>
  /** What follows from it: rows that commit together with the end of the effect. */
  readonly apply?: (tx: Tx, result: Result, about: EffectAbout<Payload>) => Promise<void> | void
  /** What an error of `call` means. Without it, every error is doubt. */
  readonly classify?: (error: unknown) => CallFailure
  /** The provider's name for what was done. It is kept before the effect is done. */
  readonly providerId?: (result: Result) => string | undefined
  readonly retry?: RetryOptions
  /** How long the provider remembers a key and does nothing twice for it. Without it, it does not. */
  readonly honoursKeyFor?: Duration
  /** How long a call may take. */
  readonly timeout?: Duration
  /** How long the provider's lookup may lag behind what it has done. */
  readonly readLag?: Duration
  /** Effects of one scope for which this is the same run one after another. */
  readonly orderBy?: (payload: Payload) => string | undefined
  /** Hands effects over to somebody who carries them out by `carryOut`, instead of calling here. */
  readonly relay?: Relay
  /** How soon a relayed effect that nobody carried out is handed over again. */
  readonly visibility?: Duration
}

/** One kind, checked. It knows no types: what it is given comes from a row. */
export interface EffectKind {
  readonly name: string
  readonly call: (call: EffectCall<unknown>) => unknown
  readonly lookup: ((about: EffectAbout<unknown>) => unknown) | undefined
  readonly apply: ((tx: unknown, result: unknown, about: EffectAbout<unknown>) => unknown) | undefined
  readonly classify: (error: unknown) => unknown
  readonly providerId: ((result: unknown) => unknown) | undefined
  readonly orderBy: ((payload: unknown) => unknown) | undefined
  readonly relay: Relay | undefined
  readonly attempts: number
  readonly withinMs: number
  readonly backoff: { readonly firstMs: number; readonly maxMs: number }
  /** Without it the provider honours no keys. */
  readonly honoursKeyMs: number | undefined
  readonly timeoutMs: number
  readonly readLagMs: number
  readonly visibilityMs: number
}

declare const types: unique symbol

/** A set of kinds that was checked. Made by `effects()` only. */
export interface Effects<Payloads = unknown, Tx = unknown> {
  readonly kinds: ReadonlyMap<string, EffectKind>
  readonly [types]?: { readonly payloads: Payloads; readonly tx: (tx: Tx) => void }
}
