import { recordDigest } from '../../engine/digest.js'
import type { Claim, RecordName, StoredRecord } from '../../engine/record.js'
import type { Completed, Completion, ListQuery } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { invariant } from '../../kernel/errors.js'
import { columns, differences, forever, recordOf } from '../sql/row.js'
import { recordRowOf } from './columns.js'
import type { Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'
import type { Queries } from './queries.js'

/** A row that was read, with the store's time at that moment. */
export interface Found {
  readonly record: StoredRecord
  readonly revision: string
  /** The transaction that wrote it last, renewals aside. */
  readonly committedIn: string | undefined
  readonly now: number
}

/** The transaction in which a row was written. */
export interface Written {
  readonly committedIn: string
}

/** The table of records, through whatever runs its statements: a pool, or the connection of a transaction. */
export interface RecordTable {
  /** The id and time of a new record; `undefined` when there is one of this name. */
  insert(reservation: Reservation): Promise<{ readonly id: number; readonly now: number } | undefined>
  /** `lock` keeps the row for the rest of the transaction. */
  read(name: RecordName, how: 'find' | 'lock'): Promise<Found | undefined>
  /** Writes only if the row is still the one that was read. */
  write(found: Found, next: StoredRecord): Promise<Written | undefined>
  remove(found: Found): Promise<boolean>
  renew(claim: Claim, leaseMs: number): Promise<boolean>
  complete(claim: Claim, completion: Completion): Promise<(Completed & Written) | undefined>
  sweep(limit: number): Promise<readonly StoredRecord[]>
  bury(limit: number): Promise<number>
  forget(limit: number): Promise<number>
  list(query: ListQuery, limit: number): Promise<readonly StoredRecord[]>
}

export function recordTable(queries: Queries, execute: Execute): RecordTable {
  const ofClaim = (claim: Claim) => [digestOf(claim), claim.fence, claim.claimId, claim.generation]
  const records = (rows: readonly Row[]) => rows.map((row) => recordOf(recordRowOf(row)))

  return {
    async insert(reservation) {
      const { scope, key, claimId, operation, fingerprints, onLeaseOver } = reservation
      const { retentionMs, tombstoneMs, leaseMs } = reservation
      const names = [digestOf(reservation), scope, key, claimId, operation, fingerprints[0], onLeaseOver]
      const [row] = await execute(scope, queries.insert, [...names, retentionMs ?? null, tombstoneMs, leaseMs])
      return row && { id: Number(row.id), now: Number(row.now) }
    },
    async read(name, how) {
      const [row] = await execute(name.scope, queries[how], [digestOf(name)])
      if (row === undefined) return undefined
      const record = recordOf(recordRowOf(row))
      invariant(record.scope === name.scope && record.key === name.key, 'two names never share a digest')
      return {
        record,
        revision: String(row.revision),
        committedIn: row.committed_in ?? undefined,
        now: Number(row.now),
      }
    },
    async write({ record, revision }, next) {
      const { names, values } = differences(record, next)
      const [row] = await execute(record.scope, queries.update(names), [digestOf(record), revision, ...values])
      return row && { committedIn: String(row.committed_in) }
    },
    async remove({ record, revision }) {
      return (await execute(record.scope, queries.remove, [digestOf(record), revision])).length > 0
    },
    async renew(claim, leaseMs) {
      return (await execute(claim.scope, queries.renew, [...ofClaim(claim), leaseMs])).length > 0
    },
    async complete(claim, { answer, answerVersion }) {
      const kept = { answer } as StoredRecord
      const said = [
        columns.response_status_code,
        columns.response_headers,
        columns.response_body,
        columns.response_withheld_bytes,
      ].map((valueIn) => valueIn(kept))
      const [row] = await execute(claim.scope, queries.complete, [...ofClaim(claim), ...said, answerVersion])
      if (row === undefined) return undefined
      const expiresAt = Number(row.expires_at)
      return { expiresAt: expiresAt >= forever ? undefined : expiresAt, committedIn: String(row.committed_in) }
    },
    async sweep(limit) {
      return records(await execute(everyScope, queries.sweep, [limit]))
    },
    async bury(limit) {
      return (await execute(everyScope, queries.bury, [limit])).length
    },
    async forget(limit) {
      return (await execute(everyScope, queries.forget, [limit])).length
    },
    async list({ scope, state, after }, limit) {
      const filter = { ...(scope && { scope }), ...(state && { state }) }
      const wanted = [scope, state].filter((value) => value !== undefined)
      return records(await execute(scope ?? everyScope, queries.list(filter), [after ?? '0', limit, ...wanted]))
    },
  }
}

function digestOf(name: RecordName): Buffer {
  return Buffer.from(recordDigest(name))
}
