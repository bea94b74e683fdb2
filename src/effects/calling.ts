import type { EffectAbout } from '../engine/effect-definition.js'
import { attempted } from '../kernel/awaitable.js'
import type { Clock } from '../kernel/clock.js'
import { type Failure, failureOf } from './deciding.js'
import type { Held } from './held.js'

/** How a call ended, if it was made at all. */
export type Called =
  | { readonly kind: 'answered'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'withheld' }

/**
 * Makes the call, within its time. A process that was frozen since its lease was good sends nothing: whether the lease
 * lasts as long as the call may is asked here, on the monotonic clock, with nothing between the question and the call.
 */
export function called(
  { effect, kind, end, endsAt }: Held,
  about: EffectAbout<unknown>,
  clock: Clock,
): Promise<Called> {
  return new Promise((resolve) => {
    if (clock.elapsed() + kind.timeoutMs > endsAt || end.signal.aborted) return resolve({ kind: 'withheld' })
    const ended = (call: Called) => {
      cancel()
      end.signal.removeEventListener('abort', stop)
      resolve(call)
    }
    // Whoever is no longer waited for may have acted: what the error of the call says about that is not asked.
    const inDoubt = (errorCode: string) => ended({ kind: 'failed', failure: { of: 'doubt', errorCode } })
    const stop = () => inDoubt('claim_lost')
    end.signal.addEventListener('abort', stop)
    const cancel = clock.after(kind.timeoutMs, () => {
      inDoubt('timeout')
      end.abort(new DOMException('The call took longer than its timeout.', 'TimeoutError'))
    })
    const made = attempted<Called, Called>(
      () => Promise.resolve(kind.call({ ...about, signal: end.signal, attempt: effect.started })).then(answered),
      (error) => ({ kind: 'failed', failure: failureOf(kind, error) }),
    )
    void Promise.resolve(made).then(ended)
  })
}

function answered(value: unknown): Called {
  return { kind: 'answered', value }
}
