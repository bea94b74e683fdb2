/**
 * A value that is here, or the promise of one. What need not wait makes nobody wait: a promise for each step of a request
 * that runs through in one go costs more than the steps.
 */
export type Awaitable<T> = T | Promise<T>

export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** A promise of node, whatever kind of promise came from outside: what others call one need not keep the rules. */
export function promised<T>(value: Promise<T>): Promise<T> {
  return value instanceof Promise ? value : Promise.resolve(value)
}

/** Goes on with the value: now if it is here, otherwise when it comes. */
export function after<T, R>(value: Awaitable<T>, goOn: (value: T) => Awaitable<R>): Awaitable<R> {
  return isPromise(value) ? value.then(goOn) : goOn(value)
}

/** What the step gives, or what is made of its error, whether it throws or its promise rejects. */
export function attempted<T, R>(step: () => Awaitable<T>, onError: (error: unknown) => Awaitable<R>): Awaitable<T | R> {
  try {
    const value = step()
    return isPromise(value) ? value.catch(onError) : value
  } catch (error) {
    return onError(error)
  }
}

/** A promise that has failed, to settle another one with. That one may have been settled before, and then nobody hears of it. */
export function failed(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
