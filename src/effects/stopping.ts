/**
 * Ends a call from outside. A signal costs more than all the rest of a quick call, so it is made when it is first asked
 * for.
 */
export class Stopping {
  /** Who is told, while a call runs. */
  onStop: (reason: Error) => void = nothing
  #reason: Error | undefined
  #controller: AbortController | undefined

  get isStopped(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  stop(reason: Error): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.onStop(reason)
    this.#controller?.abort(reason)
  }
}

function nothing(): void {}
