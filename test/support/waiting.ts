import { setTimeout as pause } from 'node:timers/promises'

/** How tests wait: for a signal, within a bound. */

/** As long as anything in a test may take. */
const patienceMs = 15_000

/** A promise and the way to fulfil it. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** Asks until the answer is the one that is waited for. */
export async function until<T>(ask: () => Promise<T>, isThere: (answer: T) => boolean, what = 'it'): Promise<T> {
  const endAt = performance.now() + patienceMs
  for (;;) {
    const answer = await ask()
    if (isThere(answer)) return answer
    if (performance.now() > endAt)
      throw new Error(`It took more than ${patienceMs} ms for ${what}, and is ${JSON.stringify(answer)}.`)
    await pause(2)
  }
}

/** Fails loudly when something takes longer than it should. */
export function bounded<T>(promise: Promise<T>, what: string, ms = patienceMs): Promise<T> {
  const late = new AbortController()
  return Promise.race([
    promise.finally(() => late.abort()),
    pause(ms, undefined, { signal: late.signal }).then(
      () => Promise.reject(new Error(`It took more than ${ms} ms for ${what}.`)),
      () => promise,
    ),
  ])
}

/** What a step ended in. */
export type Ended =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }

export function ended(step: Promise<unknown>): Promise<Ended> {
  return bounded(step, 'a step to end').then(
    (answer): Ended => ({ kind: 'answered', answer }),
    (error: unknown): Ended => ({ kind: 'threw', error }),
  )
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => Promise.reject(new Error(`It should have failed, but gave ${JSON.stringify(value)}`)),
    (error: unknown) => error,
  )
}
