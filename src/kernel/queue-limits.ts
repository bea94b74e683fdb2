const hour = 3_600_000

/** The bounds of the queue of a client. Apart from those of the client, which goes into pages without it. */
export const queueBounds = {
  /** Servers keep keys for a day. Well before that an operation that waited is not sent any more: it might run again. */
  ageMs: 20 * hour,
  /** Operations that wait in a queue. More of them are an outage that a person should know of. */
  entries: 1_000,
  /** As long as a body that the server reads. */
  bodyBytes: 1024 * 1024,
  /** Operations of a queue that are sent at once: enough to catch up, too few to drown a server that has just come back. */
  atOnce: 4,
  /** A file that is being written is whole within milliseconds. One that is older was left by a crash, before anything was sent. */
  leftoverMs: hour,
} as const
