import type { EffectAbout, EffectCall, EffectKind } from '../engine/effect-definition.js'
import { codeOf } from '../engine/name.js'
import type { Scope } from '../engine/scope.js'
import type { Clock } from '../kernel/clock.js'
import type { Stopping } from '../kernel/stopping.js'
import { type Failure, failureOf } from './deciding.js'
import type { Held } from './held.js'
import type { LateResults } from './late.js'

/** How a call ended, if it was made at all. */
export type Called =
  | { readonly kind: 'answered'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'withheld' }

/**
 * Makes the call, within its time. A process that was frozen since its lease was good sends nothing: whether the lease
 * lasts as long as the call may is asked here, on the monotonic clock, with nothing between the question and the call. What
 * it gives after that time is kept as evidence.
 */
export function called(
  held: Held,
  about: EffectAbout<unknown>,
  clock: Pick<Clock, 'elapsed' | 'after'>,
  late: Pick<LateResults, 'keep'>,
): Promise<Called> {
  const { effect, kind, stopping, endsAt } = held
  return new Promise((resolve) => {
    if (clock.elapsed() + kind.timeoutMs > endsAt || stopping.isStopped) return resolve({ kind: 'withheld' })
    // Whoever is no longer waited for may have acted: what the error of the call says about that is not asked.
    let isWaitedFor = true
    const inDoubt = (errorCode: string) => {
      isWaitedFor = false
      cancel()
      resolve({ kind: 'failed', failure: { of: 'doubt', errorCode } })
    }
    stopping.onStop((reason) => inDoubt(codeOf(reason)))
    const cancel = clock.after(kind.timeoutMs, () => {
      inDoubt('timeout')
      stopping.stop(new DOMException('The call took longer than its timeout.', 'TimeoutError'))
    })
    made(kind, new Call(about, effect.started, stopping)).then(
      (value) => {
        if (!isWaitedFor) return late.keep(held, value)
        cancel()
        resolve({ kind: 'answered', value })
      },
      (error) => {
        cancel()
        resolve({ kind: 'failed', failure: failureOf(kind, error) })
      },
    )
  })
}

/** Of a class, since a plain object with a getter has a shape of its own, which outlives it. */
class Call implements EffectCall<unknown> {
  readonly payload: unknown
  readonly key: string
  readonly scope: Scope
  readonly attempt: number
  readonly #stopping: Stopping

  constructor({ payload, key, scope }: EffectAbout<unknown>, attempt: number, stopping: Stopping) {
    this.payload = payload
    this.key = key
    this.scope = scope
    this.attempt = attempt
    this.#stopping = stopping
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }
}

/** A call that throws before it waits for anything fails like any other. */
function made(kind: EffectKind, call: EffectCall<unknown>): Promise<unknown> {
  try {
    return Promise.resolve(kind.call(call))
  } catch (error) {
    return Promise.reject(error)
  }
}
