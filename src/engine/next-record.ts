import { invariant } from '../kernel/errors.js'
import { changedRecord } from './changed.js'
import { finished, type StoredRecord, started } from './record.js'
import { type Happening, nextState, type State } from './state.js'
import type { Completion } from './store.js'
import type { Reservation } from './verdict.js'

/** The records that a transition can lead to, each made of the one before. Whether it may is for the transition to say. */

export function fresh(
  from: 'none' | 'expired',
  reservation: Reservation,
  now: number,
  last: Pick<StoredRecord, 'id' | 'generation' | 'fence'>,
): StoredRecord {
  const { scope, key, claimId, operation, retentionMs, tombstoneMs, onLeaseOver } = reservation
  return {
    id: last.id,
    scope,
    key,
    generation: last.generation + 1,
    fence: last.fence + 1,
    claimId,
    state: stateAfter(from, 'reserve'),
    operation,
    fingerprint: reservation.fingerprints[0],
    attempt: 1,
    leaseUntil: now + reservation.leaseMs,
    onLeaseOver,
    recoveryPoint: started,
    progress: reservation.progress,
    isBegun: false,
    hasEffects: false,
    answer: undefined,
    answerVersion: undefined,
    errorCode: undefined,
    reconcileAfter: undefined,
    looks: 0,
    doubtedAt: undefined,
    evidence: noEvidence,
    trace: reservation.trace,
    createdAt: now,
    lastRunAt: now,
    completedAt: undefined,
    expiresAt: expiryOf(reservation, now),
    retentionMs,
    tombstoneMs,
  }
}

/** One for all of them: every request in flight would hold an empty list otherwise. */
const noEvidence: StoredRecord['evidence'] = []

export function claimedAnew(current: StoredRecord, reservation: Reservation, now: number): StoredRecord {
  const { retentionMs, tombstoneMs } = longer(current, reservation)
  return changedRecord(current, {
    retentionMs,
    tombstoneMs,
    expiresAt: expiryOf({ retentionMs }, now),
    leaseUntil: now + reservation.leaseMs,
    state: stateAfter(current.state, 'resume'),
    fence: current.fence + 1,
    claimId: reservation.claimId,
    attempt: current.attempt + 1,
    // What is true of a phase is on record; before the first of them, the caller says what a crash would mean.
    onLeaseOver: current.progress === undefined ? reservation.onLeaseOver : current.onLeaseOver,
    errorCode: undefined,
    reconcileAfter: undefined,
    looks: 0,
    trace: reservation.trace,
    lastRunAt: now,
  })
}

/** What an attempt may send is judged by its own policy, so that its record is kept for as long as that says, or longer. */
function longer(current: StoredRecord, { retentionMs, tombstoneMs }: Reservation) {
  const isForever = current.retentionMs === undefined || retentionMs === undefined
  return {
    retentionMs: isForever ? undefined : Math.max(current.retentionMs, retentionMs),
    tombstoneMs: Math.max(current.tombstoneMs, tombstoneMs),
  }
}

/** Every first request comes by here: one copy of the record, and not one for each thing that is said about it. */
export function completed(
  current: StoredRecord,
  on: 'complete' | 'settle_completed',
  { answer, answerVersion }: Completion,
  now: number,
): StoredRecord {
  return changedRecord(current, {
    state: stateAfter(current.state, on),
    leaseUntil: undefined,
    recoveryPoint: finished,
    progress: undefined,
    isBegun: false,
    answer,
    answerVersion,
    errorCode: undefined,
    reconcileAfter: undefined,
    looks: 0,
    doubtedAt: undefined,
    completedAt: now,
    expiresAt: expiryOf(current, now),
  })
}

export function leased(record: StoredRecord, leaseMs: number, now: number): StoredRecord {
  return changedRecord(record, { leaseUntil: now + leaseMs })
}

/** A record that nobody holds any more. The fence stays: it only ever rises. */
export function idle(record: StoredRecord, on: Happening): StoredRecord {
  const state = stateAfter(record.state, on)
  return changedRecord(record, {
    state,
    leaseUntil: undefined,
    reconcileAfter: undefined,
    doubtedAt: undefined,
    looks: 0,
  })
}

function stateAfter(from: State | 'none', on: Happening): State {
  const to = nextState(from, on)
  invariant(to !== undefined && to !== 'none', `${on} leads from ${from} to a state`)
  return to
}

export function retained(record: StoredRecord, now: number): StoredRecord {
  return changedRecord(record, { expiresAt: expiryOf(record, now) })
}

function expiryOf({ retentionMs }: Pick<StoredRecord, 'retentionMs'>, now: number): number | undefined {
  return retentionMs === undefined ? undefined : now + retentionMs
}
