import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import type { Fate, PostgresWire, WireStatement } from '../../support/postgres-wire.js'

/** How tests wait: for a signal, within a bound. */

const patienceMs = 10_000

export interface Held {
  /** The statement has reached the barrier. */
  readonly arrived: Promise<WireStatement>
  /** Lets it go on, to this fate. */
  release(fate?: Fate): void
}

/** Holds the next statement that fits, before it reaches the server; everything else passes. */
export function hold(wire: PostgresWire, fits: RegExp): Held {
  const arrived = signal<WireStatement>()
  const released = signal<Fate>()
  let isHeld = false
  wire.rule((statement) => {
    if (isHeld || !fits.test(statement.text)) return 'pass'
    isHeld = true
    arrived.give(statement)
    return released.given
  })
  return {
    arrived: bounded(arrived.given, `${fits} to reach the wire`),
    release: (fate = 'pass') => released.give(fate),
  }
}

/** A promise and the way to fulfil it. */
export function signal<T = void>(): { readonly given: Promise<T>; readonly give: (value: T) => void } {
  let give: (value: T) => void = () => {}
  const given = new Promise<T>((resolve) => {
    give = resolve
  })
  return { given, give: (value) => give(value) }
}

/** Fails loudly when something takes longer than anything here should. */
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

/** Resolves once `look` finds something. */
export async function eventually<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
  for (const endAt = Date.now() + patienceMs; Date.now() < endAt; ) {
    const found = await look()
    if (found !== undefined) return found
    await pause(5)
  }
  throw new Error(`It took more than ${patienceMs} ms for ${what}.`)
}

/** Resolves once a session of this database waits for a lock in a statement that mentions all of these. */
export function blocked(owner: pg.Pool, ...mentions: readonly string[]): Promise<number> {
  return eventually(
    async () => {
      const { rows } = await owner.query(
        `SELECT pid, query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      const found = rows.find(({ query }) => mentions.every((mention) => query.includes(mention)))
      return found?.pid as number | undefined
    },
    `a session to wait for a lock in ${mentions.join(' ')}`,
  )
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
