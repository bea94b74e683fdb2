/**
 * Ends something from outside, once. A signal of the platform costs more than all the rest of a quick call, and what it refers
 * to outlives every small collection of garbage, so it is made when it is first asked for: most code never looks at it.
 */
export class Stopping {
  #reason: Error | undefined
  #controller: AbortController | undefined
  /** Every request has one of these, and hardly anybody listens. */
  #listeners: ((reason: Error) => void)[] | undefined

  /** Why it was stopped; `undefined` while it goes on. */
  get reason(): Error | undefined {
    return this.#reason
  }

  get isStopped(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  /** Calls back when it is stopped; at once, if it has been. The function returned takes that back. */
  onStop(listener: (reason: Error) => void): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason)
      return () => {}
    }
    this.#listeners ??= []
    const listeners = this.#listeners
    listeners.push(listener)
    return () => {
      const index = listeners.indexOf(listener)
      if (index >= 0) listeners.splice(index, 1)
    }
  }

  /** Only the first reason counts. */
  stop(reason: Error = enough): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const tell of this.#listeners?.splice(0) ?? []) tell(reason)
  }
}

/** What the platform says, too, when it is given no reason. */
const enough = new DOMException('It is over.', 'AbortError')

/** The same for what is ours and for a signal that somebody handed in. */
export function isOver(one: Stopping | AbortSignal): boolean {
  return one instanceof Stopping ? one.isStopped : one.aborted
}

/** Calls back when it is stopped or aborted, which it is not yet. The function returned takes that back. */
export function onOver(one: Stopping | AbortSignal, listener: () => void): () => void {
  if (one instanceof Stopping) return one.onStop(listener)
  one.addEventListener('abort', listener, { once: true })
  return () => one.removeEventListener('abort', listener)
}
