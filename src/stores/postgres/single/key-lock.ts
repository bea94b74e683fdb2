import { lockNumber } from '../advisory.js'
import { milliseconds } from '../columns.js'
import type { Asked, Query, Row, Session } from '../connections.js'

/** A key's lock for the rest of a transaction, by the digest of its record. */
export interface KeyLock {
  /** Takes it if it is free, and says the store's time. */
  taking(digest: Uint8Array): Asked
  /** Waits until nobody has it. */
  wait(query: Session<unknown>['query'], digest: Uint8Array): Promise<void>
  now(query: Session<unknown>['query']): Promise<number>
}

export function keyLock(schema: string, quotedSchema: string): KeyLock {
  const now = milliseconds(`${quotedSchema}.clock()`)
  const take: Query = { text: `SELECT pg_try_advisory_xact_lock($1::bigint), ${now}`, gives: ['is_taken', 'now'] }
  const wait: Query = { text: 'SELECT count(pg_advisory_xact_lock($1::bigint))', gives: ['count'] }
  const time: Query = { text: `SELECT ${now}`, gives: ['now'] }
  const numberOf = (digest: Uint8Array) => lockNumber(schema, 'single', digest)
  return {
    taking: (digest) => ({ query: take, values: [numberOf(digest)] }),
    async wait(query, digest) {
      await query(wait, [numberOf(digest)])
    },
    async now(query) {
      const [row] = await query(time, [])
      return Number(row?.now)
    },
  }
}

/** What trying to take it gave. */
export function takenIn([row]: readonly Row[]): { readonly isTaken: boolean; readonly now: number } {
  return { isTaken: row?.is_taken === 't', now: Number(row?.now) }
}
