import { systemClock } from '../../kernel/clock.js'
import { postgresBounds } from '../../kernel/limits.js'
import type { ConnectionUse } from './connections.js'

/**
 * Tells when a server that owes an answer says nothing for longer than it would let a statement run. It ends a handler's
 * statement by itself, but where the network went silent nobody would ever hear of it. Statements wait for each other on
 * a connection, so each answer begins the wait anew.
 */
export interface Silence {
  /** A statement was sent. */
  owes(): void
  /** One was answered. */
  answered(): void
}

export function silenceOf({ statementTimeoutMs }: ConnectionUse, report: () => void): Silence {
  let owed = 0
  let cancel = () => {}
  const listen = () => {
    cancel()
    cancel = owed === 0 ? () => {} : systemClock.after(statementTimeoutMs + postgresBounds.silenceMs, report)
  }
  return {
    owes() {
      owed += 1
      if (owed === 1) listen()
    },
    answered() {
      owed -= 1
      listen()
    },
  }
}
