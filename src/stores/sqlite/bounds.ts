/** The bounds of the embedded store, each with its reason. */

const second = 1_000

export const sqliteBounds = {
  /** Another process holds the write lock for milliseconds; one that holds it this long is in trouble. */
  busyTimeoutMs: 2 * second,
  /** Where SQLite does not wait for a lock by itself, it is asked again this often: about as often as it would look. */
  insistMs: 10,
  /** A thread that is silent this long, after it had the lock, is hung: it is given up and a new one is started. */
  answerMs: 10 * second,
  /** Operations that may wait for their turn. At a few thousand a second, whoever comes after them waits in vain. */
  queue: 10_000,
} as const
