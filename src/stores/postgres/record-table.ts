import { recordDigest } from '../../engine/digest.js'
import type { Claim, RecordName, StoredRecord } from '../../engine/record.js'
import type { Completed, Completion, ListQuery } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { invariant } from '../../kernel/errors.js'
import { columns, differences, forever, type Row, recordOf } from '../sql/row.js'
import type { Rows } from './connections.js'
import type { Queries } from './queries.js'

/** A row that was read, with the store's time at that moment. */
export interface Found {
  readonly record: StoredRecord
  readonly revision: string
  readonly now: number
}

/** The table of records, through whatever runs its statements: a pool, or the connection of a transaction. */
export interface RecordTable {
  insert(reservation: Reservation): Promise<StoredRecord | undefined>
  /** `lock` keeps the row for the rest of the transaction. */
  read(name: RecordName, how: 'find' | 'lock'): Promise<Found | undefined>
  /** Writes only if the row is still the one that was read. */
  write(found: Found, next: StoredRecord | 'deleted'): Promise<boolean>
  renew(claim: Claim, leaseMs: number): Promise<boolean>
  complete(claim: Claim, completion: Completion): Promise<false | Completed>
  sweep(limit: number): Promise<readonly StoredRecord[]>
  bury(limit: number): Promise<number>
  forget(limit: number): Promise<number>
  list(query: ListQuery, limit: number): Promise<readonly StoredRecord[]>
}

export function recordTable(
  queries: Queries,
  query: (text: string, values: readonly unknown[]) => Promise<Rows>,
): RecordTable {
  const ofClaim = (claim: Claim) => [digestOf(claim), claim.fence, claim.claimId, claim.generation]
  const records = (rows: Rows) => rows.map((row) => recordOf(row as unknown as Row))

  return {
    async insert(reservation) {
      const { scope, key, claimId, operation, fingerprints, onLeaseOver, retentionMs, tombstoneMs, leaseMs } =
        reservation
      const names = [digestOf(reservation), scope, key, claimId, operation, fingerprints[0], onLeaseOver]
      return records(await query(queries.insert, [...names, retentionMs ?? null, tombstoneMs, leaseMs]))[0]
    },
    async read(name, how) {
      const [row] = await query(queries[how], [digestOf(name)])
      if (row === undefined) return undefined
      const record = recordOf(row as unknown as Row)
      invariant(record.scope === name.scope && record.key === name.key, 'two names never share a digest')
      return { record, revision: String(row.revision), now: Number(row.now) }
    },
    async write({ record, revision }, next) {
      const at = [digestOf(record), revision]
      if (next === 'deleted') return (await query(queries.remove, at)).length > 0
      const { names, values } = differences(record, next)
      if (names.length === 0) return true
      return (await query(queries.update(names), [...at, ...values])).length > 0
    },
    async renew(claim, leaseMs) {
      return (await query(queries.renew, [...ofClaim(claim), leaseMs])).length > 0
    },
    async complete(claim, { answer, answerVersion }) {
      const kept = { answer } as StoredRecord
      const said = [
        columns.response_status_code,
        columns.response_headers,
        columns.response_body,
        columns.response_withheld_bytes,
      ]
      const [row] = await query(queries.complete, [...ofClaim(claim), ...said.map((read) => read(kept)), answerVersion])
      if (row === undefined) return false
      const expiresAt = Number(row.expires_at)
      return { expiresAt: expiresAt >= forever ? undefined : expiresAt }
    },
    async sweep(limit) {
      return records(await query(queries.sweep, [limit]))
    },
    async bury(limit) {
      return (await query(queries.bury, [limit])).length
    },
    async forget(limit) {
      return (await query(queries.forget, [limit])).length
    },
    async list({ scope, state, after }, limit) {
      const filter = { ...(scope && { scope }), ...(state && { state }) }
      const wanted = [scope, state].filter((value) => value !== undefined)
      return records(await query(queries.list(filter), [after ?? '0', limit, ...wanted]))
    },
  }
}

function digestOf(name: RecordName): Buffer {
  return Buffer.from(recordDigest(name))
}
