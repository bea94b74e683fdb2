import { digestHex, recordDigest } from '../../engine/digest.js'
import type { Claim, RecordName, StoredRecord } from '../../engine/record.js'
import type { Completed, Completion } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { columns, forever, recordOf, type SqlValue } from '../sql/row.js'
import { arrayOf } from './array.js'
import { recordRowOf } from './columns.js'
import type { Row } from './connections.js'

/** What the statements are given, in the order of their parameters, and what their rows say. */

export function digestOf(name: RecordName): Buffer {
  return Buffer.from(recordDigest(name))
}

/** What a statement is given: the digest of its record, and these behind it. */
export interface Given<Asked> {
  readonly nameOf: (asked: Asked) => RecordName
  readonly behind: readonly ((asked: Asked) => SqlValue)[]
}

export interface Renewing {
  readonly claim: Claim
  readonly leaseMs: number
}

export interface Completing {
  readonly claim: Claim
  readonly completion: Completion
}

export const reserving: Given<Reservation> = {
  nameOf: (reservation) => reservation,
  behind: [
    ({ scope }) => scope,
    ({ key }) => key,
    ({ claimId }) => claimId,
    ({ operation }) => operation,
    ({ fingerprints }) => fingerprints[0],
    ({ onLeaseOver }) => onLeaseOver,
    ({ retentionMs }) => retentionMs ?? null,
    ({ tombstoneMs }) => tombstoneMs,
    ({ leaseMs }) => leaseMs,
    ({ progress }) => progress ?? null,
    ({ trace }) => trace ?? null,
  ],
}

export const reading: Given<RecordName> = { nameOf: (name) => name, behind: [] }

/** Whoever is named here still holds the record. */
export const holding: Given<Claim> = {
  nameOf: (claim) => claim,
  behind: [({ fence }) => fence, ({ claimId }) => claimId, ({ generation }) => generation],
}

export const renewing: Given<Renewing> = {
  nameOf: ({ claim }) => claim,
  behind: [...byClaim<Renewing>(), ({ leaseMs }) => leaseMs],
}

export const completing: Given<Completing> = {
  nameOf: ({ claim }) => claim,
  behind: [
    ...byClaim<Completing>(),
    answered('response_status_code'),
    answered('response_headers'),
    answered('response_body'),
    answered('response_withheld_bytes'),
    ({ completion }) => completion.answerVersion,
  ],
}

function byClaim<Asked extends { readonly claim: Claim }>(): Given<Asked>['behind'] {
  return holding.behind.map(
    (valueIn) =>
      ({ claim }) =>
        valueIn(claim),
  )
}

function answered(column: keyof typeof columns): (asked: Completing) => SqlValue {
  const valueIn = columns[column]
  return ({ completion }) => valueIn(completion as StoredRecord)
}

/** For one record. */
export function valuesOf<Asked>({ nameOf, behind }: Given<Asked>, asked: Asked): readonly SqlValue[] {
  return [digestOf(nameOf(asked)), ...behind.map((valueIn) => valueIn(asked))]
}

/** For many: an array for each parameter. The digests stand there as PostgreSQL spells them. */
export function arraysOf<Asked>(
  { behind }: Given<Asked>,
  digests: readonly string[],
  asked: readonly Asked[],
): readonly string[] {
  return [arrayOf(digests), ...behind.map((valueIn) => arrayOf(asked.map(valueIn)))]
}

/** A digest as PostgreSQL spells it. */
export function spelledDigestOf(name: RecordName): string {
  return `\\x${digestHex(name)}`
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
