/**
 * A word shared by a store and its thread. libsql aborts the whole process when a thread is terminated in the midst
 * of one of its calls, so nobody ever terminates the thread. It is told to leave, and leaves between two calls.
 */
export interface Gate {
  readonly shared: SharedArrayBuffer
  /** The thread, before each request. `false` means: leave, and do nothing more. */
  enter(): boolean
  /** The thread, after each request. `false` means: leave, and do not even answer. */
  exit(): boolean
  /** The store: no further request is begun. */
  close(): void
  /** The store, once closed: blocks until the request under way has ended, at most this long. */
  waitUntilLeft(ms: number): void
}

const idle = 0
const busy = 1
const leaving = 2
const left = 3

export function gateOn(shared: SharedArrayBuffer = new SharedArrayBuffer(4)): Gate {
  const word = new Int32Array(shared)
  return {
    shared,
    enter: () => Atomics.compareExchange(word, 0, idle, busy) === idle,
    exit() {
      if (Atomics.compareExchange(word, 0, busy, idle) === busy) return true
      Atomics.store(word, 0, left)
      Atomics.notify(word, 0)
      return false
    },
    close() {
      if (Atomics.compareExchange(word, 0, busy, leaving) !== busy) Atomics.store(word, 0, left)
    },
    waitUntilLeft: (ms) => void Atomics.wait(word, 0, leaving, ms),
  }
}
