import type { Clock } from '../kernel/clock.js'

/**
 * Waits for a step no longer than `ms`, or until the caller aborts. The step is given a signal for both; one that does not
 * listen is left behind, and what goes on behind our back has no one to answer to.
 */
export async function bounded<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  step: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
  const cancel = clock.after(ms, () =>
    late.abort(new DOMException(`No answer within ${Math.ceil(ms)} ms.`, 'TimeoutError')),
  )
  try {
    return await unlessAborted(step(either), either)
  } catch (error) {
    late.abort()
    throw error
  } finally {
    cancel()
  }
}

/** Lets `ms` pass, or what is left until the caller aborts: whoever waits looks at the signal himself. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await bounded(clock, ms, signal, () => new Promise(() => {})).catch(() => {})
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}
