import type { Fingerprint } from '../../engine/fingerprint/fingerprint.js'
import type { IdempotencyKey } from '../../engine/key.js'
import { resourceOf } from '../../engine/listing.js'
import type { Answer, OnLeaseOver, StoredAnswer, StoredRecord } from '../../engine/record.js'
import type { Scope } from '../../engine/scope.js'
import type { State } from '../../engine/state.js'
import type { Completion } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import type { Given } from './connection.js'
import { type Fields, fieldsOf, type Reply, reader } from './reply.js'

/** The one place that knows how a record lies in a hash of Redis. What is absent has no field; times are milliseconds. */

export function recordOf(reply: Reply | undefined): StoredRecord {
  const fields = fieldsOf(reply)
  const { text, number, textIf, numberIf, bytesIf } = reader(fields)
  return {
    id: number('id'),
    scope: text('scope') as Scope,
    key: text('key') as IdempotencyKey,
    generation: number('generation'),
    fence: number('fence'),
    claimId: text('claimId'),
    state: text('state') as State,
    operation: text('operation'),
    fingerprint: text('fingerprint') as Fingerprint,
    attempt: number('attempt'),
    leaseUntil: numberIf('leaseUntil'),
    onLeaseOver: text('onLeaseOver') as OnLeaseOver,
    recoveryPoint: text('recoveryPoint'),
    progress: bytesIf('progress'),
    isBegun: fields.has('isBegun'),
    // There is no outbox here.
    hasEffects: false,
    answer: answerOf(fields),
    answerVersion: numberIf('answerVersion'),
    errorCode: textIf('errorCode'),
    reconcileAfter: numberIf('reconcileAfter'),
    looks: number('looks'),
    doubtedAt: numberIf('doubtedAt'),
    evidence: JSON.parse(text('evidence')) as StoredRecord['evidence'],
    trace: textIf('trace'),
    createdAt: number('createdAt'),
    lastRunAt: number('lastRunAt'),
    completedAt: numberIf('completedAt'),
    expiresAt: numberIf('expiresAt'),
    retentionMs: numberIf('retentionMs'),
    tombstoneMs: number('tombstoneMs'),
  }
}

/** `undefined` where there is no record. */
export function recordIf(reply: Reply | undefined): StoredRecord | undefined {
  return fieldsOf(reply).size === 0 ? undefined : recordOf(reply)
}

/** What of a record can change after it was made, as its fields have it. */
export function changeableOf(record: StoredRecord): Given {
  const { answer, answerVersion = 0 } = record
  const kept = answer && answerFields({ answer, answerVersion })
  return {
    claimId: record.claimId,
    state: record.state,
    leaseUntil: record.leaseUntil,
    onLeaseOver: record.onLeaseOver,
    recoveryPoint: record.recoveryPoint,
    progress: record.progress,
    isBegun: record.isBegun ? 1 : undefined,
    ...withoutAnswer,
    ...kept,
    errorCode: record.errorCode,
    reconcileAfter: record.reconcileAfter,
    looks: record.looks,
    doubtedAt: record.doubtedAt,
    evidence: JSON.stringify(record.evidence),
    trace: record.trace,
    completedAt: record.completedAt,
    expiresAt: record.expiresAt,
  }
}

const withoutAnswer = {
  answerKind: undefined,
  answerStatus: undefined,
  answerHeaders: undefined,
  answerBytes: undefined,
  answerVersion: undefined,
  body: undefined,
  location: undefined,
} as const satisfies Given

export function answerFields({ answer, answerVersion }: Completion): Given {
  return {
    answerKind: answer.kind,
    answerStatus: answer.status,
    answerHeaders: JSON.stringify(answer.headers),
    answerBytes: answer.kind === 'kept' ? answer.body.byteLength : answer.bytes,
    answerVersion,
    body: answer.kind === 'kept' ? answer.body : undefined,
    location: resourceOf({ answer }),
  }
}

export function answerOf(fields: Fields): StoredAnswer | undefined {
  const { text, number, textIf, bytesIf } = reader(fields)
  const kind = textIf('answerKind')
  if (kind === undefined) return undefined
  const status = number('answerStatus')
  const headers = JSON.parse(text('answerHeaders')) as Answer['headers']
  if (kind === 'withheld') return { kind, status, headers, bytes: number('answerBytes') }
  const body = bytesIf('body')
  invariant(body, 'an answer that was kept has its body')
  return { kind: 'kept', status, headers, body }
}
