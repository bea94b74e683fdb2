import { type Awaitable, isPromise } from '../kernel/awaitable.js'
import { type Clock, within } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { nowhere } from '../kernel/roster.js'
import { pulse } from './pulse.js'
import type { Store } from './store.js'
import type { TellFailure } from './store-failures.js'

/** The steps of a store that one request waits for. */
export type BoundedStore = Pick<
  Store,
  'reserve' | 'renew' | 'checkpoint' | 'complete' | 'release' | 'fail' | 'doubt' | 'find' | 'usage' | 'measure'
>

export interface BoundedStoreOptions {
  readonly timeoutMs: number
  readonly clock: Clock
  readonly events: Pick<Emitter, 'hears' | 'emit'>
  readonly tell: TellFailure
}

/**
 * The same steps, each within a bound: whatever goes wrong in a store, the engine sees a HapaxError in bounded time
 * and fails closed. After `idempotency_store_unavailable` the step may still have happened.
 */
export function boundedStore(
  store: BoundedStore,
  { timeoutMs, clock, events, tell }: BoundedStoreOptions,
): BoundedStore {
  /** Where nobody wants to know how long the store takes, no clock is looked at. */
  const startedAt = () => (events.hears('store_answered') ? clock.elapsed() : undefined)
  const answered = (step: string, askedAt: number | undefined) => {
    if (askedAt !== undefined) events.emit('store_answered', () => ({ step, tookMs: clock.elapsed() - askedAt }))
  }
  const failed = (step: string, error: unknown) => tell(step, error, unavailable(step, error))
  const late = (step: string) =>
    new HapaxError('idempotency_store_unavailable', `The store did not answer "${step}" within ${timeoutMs} ms.`)
  async function bounded<T>(step: string, ask: () => Promise<T>): Promise<T> {
    const askedAt = startedAt()
    let answer: T
    try {
      answer = await within(clock, timeoutMs, ask(), () => late(step))
    } catch (error) {
      throw failed(step, error)
    }
    answered(step, askedAt)
    return answer
  }
  const waits = pulse(clock)
  /** The same for the steps that every request takes: one timer bounds all of them. */
  function inTime<T>(step: string, answer: Promise<T>, askedAt: number | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const dueAt = (askedAt ?? clock.elapsed()) + timeoutMs
      const wait = { dueAt, due: () => reject(failed(step, late(step))), place: nowhere }
      waits.add(wait)
      answer.then(
        (value) => {
          if (!waits.remove(wait)) return
          answered(step, askedAt)
          resolve(value)
        },
        (error: unknown) => {
          if (waits.remove(wait)) reject(failed(step, error))
        },
      )
    })
  }
  /** The two steps that every request takes make no promise where the store makes none. */
  function atOnce<T>(step: string, ask: () => Awaitable<T>): Awaitable<T> {
    const askedAt = startedAt()
    let answer: Awaitable<T>
    try {
      answer = ask()
    } catch (error) {
      throw failed(step, error)
    }
    if (isPromise(answer)) return inTime(step, answer, askedAt)
    answered(step, askedAt)
    return answer
  }
  const measuring = (measure: NonNullable<Store['measure']>) => ({
    measure: (atMost: number) => bounded('measure', () => measure(atMost)),
  })
  return {
    reserve: (reservation) => atOnce('reserve', () => store.reserve(reservation)),
    renew: (claim, leaseMs) => bounded('renew', () => store.renew(claim, leaseMs)),
    checkpoint: (claim, step) => bounded('checkpoint', () => store.checkpoint(claim, step)),
    complete: (claim, completion) => atOnce('complete', () => store.complete(claim, completion)),
    release: (claim) => bounded('release', () => store.release(claim)),
    fail: (claim, failure) => bounded('fail', () => store.fail(claim, failure)),
    doubt: (claim, reason) => bounded('doubt', () => store.doubt(claim, reason)),
    // By its name alone: who asks may hold more than that, and not every store could send it on.
    find: ({ scope, key }) => bounded('find', () => store.find({ scope, key })),
    usage: (tenant, atMost) => bounded('usage', () => store.usage(tenant, atMost)),
    ...(store.measure && measuring(store.measure)),
  }
}

/**
 * One name for all that may have happened or not. A schema that an operator must mend, and a store that is busy and
 * says that nothing happened, keep their own.
 */
export function unavailable(step: string, error: unknown): HapaxError {
  if (isHapaxError(error) && ownNames.has(error.code)) return error
  const why = error instanceof Error ? error.message : String(error)
  return new HapaxError('idempotency_store_unavailable', `The store failed at "${step}": ${why}`, { cause: error })
}

const ownNames: ReadonlySet<string> = new Set([
  'idempotency_store_unavailable',
  'store_busy',
  'store_schema_outdated',
  'store_schema_newer',
])
