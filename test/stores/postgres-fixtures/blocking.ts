import type pg from 'pg'
import type { Fate, PostgresWire, WireStatement } from '../../support/postgres-wire.js'
import { bounded, gate, until } from '../../support/waiting.js'

/** Statements that stand still: on the wire because a test holds them, or in the server because of a lock. */

export interface Held {
  /** The statement has reached the barrier. */
  readonly arrived: Promise<WireStatement>
  /** Lets it go on, to this fate. */
  release(fate?: Fate): void
}

/** Holds the next statement that fits, before it reaches the server; everything else passes. */
export function hold(wire: PostgresWire, fits: RegExp): Held {
  const arrived = gate<WireStatement>()
  const released = gate<Fate>()
  let isHeld = false
  wire.rule((statement) => {
    if (isHeld || !fits.test(statement.text)) return 'pass'
    isHeld = true
    arrived.open(statement)
    return released.opened
  })
  return {
    arrived: bounded(arrived.opened, `${fits} to reach the wire`),
    release: (fate = 'pass') => released.open(fate),
  }
}

/** Resolves once a session of this database waits for a lock in a statement that mentions all of these, in this order. */
export async function untilBlocked(owner: pg.Pool, ...mentions: readonly string[]): Promise<void> {
  await until(
    () => blocked(owner, ...mentions),
    (sessions) => sessions > 0,
    `a session to wait for a lock in ${mentions.join(' ')}`,
  )
}

/** How many sessions of this database wait for a lock in a statement that mentions all of these, in this order. */
export async function blocked(owner: pg.Pool, ...mentions: readonly string[]): Promise<number> {
  const { rows } = await owner.query(
    `SELECT count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
    [`%${mentions.join('%')}%`],
  )
  return rows[0].sessions
}
