import { type Awaitable, isPromise } from '../kernel/awaitable.js'
import type { Clock } from '../kernel/clock.js'
import type { Emitter } from '../kernel/events.js'
import { stepsInTime } from './in-time.js'
import { sharedTimer } from './pulse.js'
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
  const inTime = stepsInTime(clock, tell)
  const inSharedTime = stepsInTime(sharedTimer(clock), tell)
  /** The two steps that every request takes share a timer, and make no promise where the store makes none. */
  function atOnce<T>(step: string, ask: () => Awaitable<T>): Awaitable<T> {
    const askedAt = startedAt()
    let answer: Awaitable<T>
    try {
      answer = ask()
    } catch (error) {
      throw inSharedTime.failed(step, error)
    }
    if (isPromise(answer))
      return heard(
        step,
        inSharedTime(step, () => answer, timeoutMs),
        askedAt,
      )
    answered(step, askedAt)
    return answer
  }
  const bounded = <T>(step: string, ask: () => Promise<T>) => {
    const askedAt = startedAt()
    return heard(step, inTime(step, ask, timeoutMs), askedAt)
  }
  function heard<T>(step: string, answer: Promise<T>, askedAt: number | undefined): Promise<T> {
    if (askedAt === undefined) return answer
    return answer.then((value) => {
      answered(step, askedAt)
      return value
    })
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
