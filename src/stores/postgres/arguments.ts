import { recordDigest } from '../../engine/digest.js'
import type { Claim, RecordName, StoredRecord } from '../../engine/record.js'
import type { Completed, Completion } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { columns, forever, recordOf, type SqlValue } from '../sql/row.js'
import { recordRowOf } from './columns.js'
import type { Row } from './connections.js'

/** What the statements are given, in the order of their parameters, and what their rows say. */

export function digestOf(name: RecordName): Buffer {
  return Buffer.from(recordDigest(name))
}

export function ofReservation(reservation: Reservation): readonly SqlValue[] {
  const { scope, key, claimId, operation, fingerprints, onLeaseOver } = reservation
  const { retentionMs, tombstoneMs, leaseMs, progress, trace } = reservation
  const names = [digestOf(reservation), scope, key, claimId, operation, fingerprints[0], onLeaseOver]
  return [...names, retentionMs ?? null, tombstoneMs, leaseMs, progress ?? null, trace ?? null]
}

export function ofRenewal(claim: Claim, leaseMs: number): readonly SqlValue[] {
  return [...ofClaim(claim), leaseMs]
}

export function ofCompletion(claim: Claim, { answer, answerVersion }: Completion): readonly SqlValue[] {
  const kept = { answer } as StoredRecord
  const said = [
    columns.response_status_code,
    columns.response_headers,
    columns.response_body,
    columns.response_withheld_bytes,
  ].map((valueIn) => valueIn(kept))
  return [...ofClaim(claim), ...said, answerVersion]
}

export function ofClaim({ fence, claimId, generation, ...name }: Claim): readonly SqlValue[] {
  return [digestOf(name), fence, claimId, generation]
}

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

export function foundIn(row: Row): Found {
  return {
    record: recordOf(recordRowOf(row)),
    revision: String(row.revision),
    committedIn: row.committed_in ?? undefined,
    now: Number(row.now),
  }
}

/** With bytes of its own. */
export function copied(found: Found): Found {
  const { answer, progress } = found.record
  const record: StoredRecord = {
    ...found.record,
    progress: progress && Uint8Array.from(progress),
    answer: answer?.kind === 'kept' ? { ...answer, body: Uint8Array.from(answer.body) } : answer,
  }
  return { ...found, record }
}

export function completedIn(row: Row): Completed & Written {
  const expiresAt = Number(row.expires_at)
  return { expiresAt: expiresAt >= forever ? undefined : expiresAt, committedIn: String(row.committed_in) }
}
