/**
 * Two words shared by a store and its thread. libsql aborts the whole process when a thread is terminated in the
 * midst of one of its calls, so nobody ever terminates the thread: it is told to leave, and leaves between two calls.
 */
export interface Gate {
  readonly shared: SharedArrayBuffer
  /** The thread, before each request. `false`: leave, the request is not begun. */
  enter(): boolean
  /** The thread, after each request. `false`: leave, the request is not answered. */
  exit(): boolean
  /** The store: the thread is to leave. */
  close(): void
  /** The store, once closed: blocks until the request under way has ended, at most this long. */
  waitForExit(ms: number): void
}

const busy = 0
const closed = 1

export function gateOn(shared: SharedArrayBuffer = new SharedArrayBuffer(8)): Gate {
  const words = new Int32Array(shared)
  const exit = () => {
    Atomics.store(words, busy, 0)
    Atomics.notify(words, busy)
    return Atomics.load(words, closed) === 0
  }
  return {
    shared,
    enter() {
      // Each side first writes its own word and then reads the other's, so that one of them always sees the other.
      Atomics.store(words, busy, 1)
      return Atomics.load(words, closed) === 0 || exit()
    },
    exit,
    close: () => void Atomics.store(words, closed, 1),
    waitForExit: (ms) => void Atomics.wait(words, busy, 1, ms),
  }
}
