import type { Backoff } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import * as clientBounds from '../kernel/client-limits.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { type Duration, durationMs } from '../kernel/duration-text.js'
import { type RetryBudget, retryBudget } from './budget.js'
import { ClientError, type GaveUp } from './errors.js'
import { clientChance, type PersonalKeys } from './key.js'
import { type RetryTable, retryTable, type Verdict } from './verdict.js'

/** What became of one attempt, and what follows. For logs and metrics. */
export interface Attempt {
  /** Of the operation, the same in all its attempts. Methods that change nothing have none. */
  readonly key: string | undefined
  /** From 1 on. */
  readonly attempt: number
  /** Of the response; `undefined` where none came. */
  readonly status: number | undefined
  /** Why none came. */
  readonly error: unknown
  readonly verdict: Verdict['kind']
  /** How long the client waits before the next attempt; `undefined` when this was the last. */
  readonly waitMs: number | undefined
  readonly gaveUp: GaveUp | undefined
}

type OnAttempt = (attempt: Attempt) => void

export interface ClientOptions {
  /** What sends. By default the `fetch` there is when a request is made. */
  readonly fetch?: typeof fetch
  /** The name of the header. */
  readonly header?: string
  /** How a key that the client puts there is spelt. Servers that follow the IETF draft to the letter want quotes. */
  readonly spelling?: 'raw' | 'quoted'
  /** Makes the key of an operation, once. */
  readonly makeKey?: () => string
  readonly personalKeys?: PersonalKeys
  /** Headers of the moment, asked for before every attempt: a token that may have been renewed since the last. */
  readonly headers?: () => NonNullable<RequestInit['headers']> | Promise<NonNullable<RequestInit['headers']>>
  /** From the call to the answer, all attempts and pauses together. */
  readonly deadline?: Duration
  /** Of one attempt. */
  readonly attemptTimeout?: Duration
  /** In all. Without it, so many that fail: one that runs, or is in doubt, is asked for until the deadline. */
  readonly attempts?: number
  /** The pauses: anything between nothing and a ceiling that doubles from `first` to `max`, on top of `Retry-After`. */
  readonly backoff?: { readonly first: Duration; readonly max: Duration }
  /** Retries that the client may have ahead, and what part of one each operation earns. */
  readonly budget?: { readonly most: number; readonly share: number }
  /** What differs from the usual table. */
  readonly retry?: RetryTable
  readonly onAttempt?: OnAttempt
  readonly clock?: Clock
  readonly chance?: Chance
}

/** What one call may say otherwise. */
export interface CallOptions {
  /** The key of this operation, kept by the caller before. */
  readonly key?: string
  readonly deadline?: Duration
  readonly onAttempt?: OnAttempt
}

export interface Settings {
  readonly fetch: typeof fetch
  readonly header: string
  readonly spelling: 'raw' | 'quoted'
  readonly makeKey: () => string
  readonly personalKeys: PersonalKeys
  readonly headers: ClientOptions['headers']
  readonly deadlineMs: number
  readonly attemptMs: number
  readonly attempts: number | undefined
  readonly backoff: Backoff
  readonly budget: RetryBudget
  readonly table: RetryTable
  readonly onAttempt: OnAttempt | undefined
  readonly clock: Clock
  readonly chance: Chance
}

export function settingsOf(options: ClientOptions): Settings {
  const { clock = systemClock, chance = clientChance, attempts, backoff, budget } = options
  const firstMs = milliseconds(backoff?.first, 'backoff.first', clientBounds.backoffFirstMs)
  const maxMs = milliseconds(backoff?.max, 'backoff.max', clientBounds.backoffMaxMs)
  return {
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    header: options.header ?? 'Idempotency-Key',
    spelling: options.spelling ?? 'raw',
    makeKey: options.makeKey ?? (() => chance.id()),
    personalKeys: options.personalKeys ?? 'refuse',
    headers: options.headers,
    deadlineMs: milliseconds(options.deadline, 'deadline', clientBounds.deadlineMs),
    attemptMs: milliseconds(options.attemptTimeout, 'attemptTimeout', clientBounds.attemptMs),
    attempts: attempts === undefined ? undefined : atLeast(1, attempts, 'attempts'),
    backoff: { firstMs, maxMs: atLeast(firstMs, maxMs, 'backoff.max in ms') },
    budget: retryBudget(
      atLeast(0, budget?.most ?? clientBounds.budget, 'budget.most'),
      atLeast(0, budget?.share ?? clientBounds.budgetShare, 'budget.share'),
    ),
    table: { ...retryTable, ...checkedTable(options.retry) },
    onAttempt: options.onAttempt,
    clock,
    chance,
  }
}

function checkedTable(retry: RetryTable = {}): RetryTable {
  for (const row of Object.entries(retry).map(([status, verdict]) => `${status}: '${verdict}'`))
    if (!/^\d(\d\d|xx): '(again|perhaps|answer)'$/.test(row)) refuse(`retry has ${row}; write it like 503: 'again'.`)
  return retry
}

export function milliseconds(text: Duration | undefined, what: string, otherwise: number): number {
  const ms = text === undefined ? otherwise : durationMs(text)
  return ms !== undefined && ms > 0 ? ms : refuse(`${what} is "${text}"; write it like '30s'.`)
}

/** Asked this way round, so that `NaN` is refused as well. */
export function atLeast(least: number, value: number, what: string): number {
  return value >= least ? value : refuse(`${what} is ${value}; give ${least} or more.`)
}

function refuse(message: string): never {
  throw new ClientError('options_invalid', message)
}
