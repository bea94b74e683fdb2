import { invariant } from '../kernel/errors.js'
import { isHandedOut } from './call-store.js'
import { changedRecord } from './changed.js'
import { equalFingerprints, recipeOf } from './fingerprint/fingerprint.js'
import { claimedAnew, completed, fresh, idle, leased, retained } from './next-record.js'
import { type Claim, type KeptEvidence, type StoredAnswer, type StoredRecord, started } from './record.js'
import { type Happening, nextState, type State } from './state.js'
import type { Checkpoint, Completion, Doubt, Failure, Plan, Settlement } from './store.js'
import type { Reservation, Verdict } from './verdict.js'

/**
 * What each step of the port does to one record, as pure functions of the record and the store's time. A store
 * that can read and write a row in one transaction needs nothing else; a store that speaks SQL says the same in
 * predicates. Each function gives the next record, or `undefined` when the step is refused and nothing changes.
 */

/** What reserving leads to: the verdict, and the record to write when there is one. */
export interface Reserved {
  readonly verdict: Verdict
  readonly next?: StoredRecord
}

/** `newId` is asked only when the record is new. */
export function reserve(
  current: StoredRecord | undefined,
  reservation: Reservation,
  now: number,
  newId: () => number,
): Reserved {
  if (current === undefined) {
    if (reservation.onNew === 'tell') return { verdict: { kind: 'new' } }
    return taken('reserved', fresh('none', reservation, now, { id: newId(), generation: 0, fence: 0 }))
  }
  if (isExpired(current, now)) {
    if (reservation.onExpired === 'refuse') return { verdict: { kind: 'expired', generation: current.generation } }
    if (reservation.onNew === 'tell') return { verdict: { kind: 'new' } }
    return taken('reserved', fresh('expired', reservation, now, current))
  }
  const comparison = compared(current, reservation)
  if (comparison !== undefined) return { verdict: comparison }
  if (isOwn(current, reservation))
    return taken(current.attempt === 1 ? 'reserved' : 'resumed', leased(current, reservation.leaseMs, now))
  switch (current.state) {
    case 'completed':
      invariant(current.answer, 'a completed record has an answer')
      return { verdict: completedVerdict(current, current.answer, now) }
    case 'unknown':
      return { verdict: unknownVerdict(current, now) }
    case 'failed_retryable':
      return taken('resumed', claimedAnew(current, reservation, now))
    case 'in_progress': {
      const leaseLeftMs = (current.leaseUntil ?? 0) - now
      if (leaseLeftMs > 0) return { verdict: { kind: 'in_progress', leaseLeftMs } }
      if (current.onLeaseOver === 'resume') return taken('resumed', claimedAnew(current, reservation, now))
      const doubted = sweep(current, now)
      invariant(doubted, 'a claim whose lease is over can be swept')
      return { verdict: { ...unknownVerdict(doubted, now), swept: true }, next: doubted }
    }
    case 'expired':
      throw new Error('unreachable: an expired record was judged above')
  }
}

export function renew(
  current: StoredRecord | undefined,
  claim: Claim,
  leaseMs: number,
  now: number,
): StoredRecord | undefined {
  if (!holds(current, claim, 'renew')) return undefined
  return leased(current, leaseMs, now)
}

export function checkpoint(
  current: StoredRecord | undefined,
  claim: Claim,
  step: Checkpoint,
  now: number,
): StoredRecord | undefined {
  if (!holds(current, claim, 'checkpoint')) return undefined
  const { retentionMs = current.retentionMs } = step
  const next = changedRecord(current, {
    leaseUntil: now + step.leaseMs,
    recoveryPoint: step.recoveryPoint,
    onLeaseOver: step.onLeaseOver,
    progress: step.progress ?? current.progress,
    isBegun: step.call === undefined || isHandedOut(step.call) ? current.isBegun : step.call.kind === 'begun',
    retentionMs: retentionMs === 'forever' ? undefined : retentionMs,
  })
  return step.retentionMs === undefined ? next : retained(next, now)
}

export function complete(
  current: StoredRecord | undefined,
  claim: Claim,
  completion: Completion,
  now: number,
): StoredRecord | undefined {
  if (isRepeated(current, claim, 'completed')) return current
  if (!holds(current, claim, 'complete')) return undefined
  return completed(current, 'complete', completion, now)
}

/**
 * Gives the key back as it was found. Only a key that was never used before is forgotten: an earlier attempt or
 * generation must stay on record, or its fingerprint, fences and downstream keys would begin anew.
 */
export function release(current: StoredRecord | undefined, claim: Claim): StoredRecord | 'deleted' | undefined {
  if (current === undefined || !nothingCommitted(current)) return undefined
  const on = current.attempt > 1 ? 'release_attempt' : current.generation > 1 ? 'release_generation' : 'release'
  if (!holds(current, claim, on)) return undefined
  return nextState(current.state, on) === 'none' ? 'deleted' : idle(current, on)
}

export function fail(
  current: StoredRecord | undefined,
  claim: Claim,
  failure: Failure,
  now: number,
): StoredRecord | undefined {
  if (isRepeated(current, claim, 'failed_retryable')) return current
  if (!holds(current, claim, 'fail')) return undefined
  const { errorCode, resumeAfterMs } = failure
  const reconcileAfter = resumeAfterMs === undefined ? undefined : now + resumeAfterMs
  return changedRecord(retained(idle(current, 'fail'), now), { errorCode, reconcileAfter })
}

export function doubt(
  current: StoredRecord | undefined,
  claim: Claim,
  reason: Doubt,
  now: number,
): StoredRecord | undefined {
  if (isRepeated(current, claim, 'unknown')) return current
  if (!holds(current, claim, 'doubt')) return undefined
  const reconcileAfter = now + reason.reconcileAfterMs
  const { errorCode } = reason
  return changedRecord(idle(current, 'doubt'), { errorCode, reconcileAfter, doubtedAt: now, looks: 0 })
}

export function sweep(current: StoredRecord, now: number): StoredRecord | undefined {
  if (!isSweepable(current, now)) return undefined
  const said = { errorCode: leaseOver, reconcileAfter: now, doubtedAt: now, looks: 0 }
  return changedRecord(idle(current, 'sweep'), said)
}

/**
 * Past its retention, leaves to a person what was interrupted or is half-done, and with which no worker goes on. With `operations`
 * workers go on by themselves, at the time that is on record; where there is none, only the client does, who has not come back.
 */
export function abandon(current: StoredRecord, operations: readonly string[], now: number): StoredRecord | undefined {
  if (!isAbandoned(current, operations, now)) return undefined
  return changedRecord(idle(current, 'abandon'), {
    // Whoever said that it failed has had the last word. Whose lease is over may be only slow, and still complete it.
    claimId: current.state === 'failed_retryable' ? noClaim : current.claimId,
    errorCode: abandoned,
    doubtedAt: now,
  })
}

/** Whether this may go on without its client, as far as time is concerned. */
export function isInterrupted(record: StoredRecord, now: number): boolean {
  if (record.state === 'in_progress') return record.onLeaseOver === 'resume' && (record.leaseUntil ?? 0) <= now
  return record.state === 'failed_retryable' && isDue(record, now)
}

/** Takes a doubt whose time has come, and puts it off. */
export function takeDoubt(current: StoredRecord, holdMs: number, now: number): StoredRecord | undefined {
  if (current.state !== 'unknown' || !isDue(current, now)) return undefined
  return changedRecord(current, { reconcileAfter: now + holdMs })
}

export function postpone(current: StoredRecord | undefined, plan: Plan, now: number): StoredRecord | undefined {
  if (current === undefined || !isLast(current, plan)) return undefined
  if (current.state !== 'unknown' && current.state !== 'failed_retryable') return undefined
  if (plan.state !== undefined && plan.state !== current.state) return undefined
  if (plan.dueAt !== undefined && plan.dueAt !== current.reconcileAfter) return undefined
  const { looks, afterMs, errorCode = current.errorCode } = plan
  const reconcileAfter = afterMs === undefined ? undefined : now + afterMs
  return changedRecord(current, { looks, errorCode, reconcileAfter })
}

export function settle(
  current: StoredRecord | undefined,
  settlement: Settlement,
  now: number,
): StoredRecord | undefined {
  const { outcome } = settlement
  if (current === undefined || !isLast(current, settlement)) return undefined
  const on = `settle_${outcome.kind}` as const
  if (nextState(current.state, on) === undefined) return undefined
  const settled = changedRecord(current, {
    claimId: noClaim,
    evidence: [...current.evidence, kept(current, settlement, now)],
  })
  if (outcome.kind === 'completed') return completed(settled, 'settle_completed', outcome, now)
  const going = changedRecord(retained(idle(settled, on), now), {
    errorCode: undefined,
    isBegun: false,
    progress: outcome.progress ?? current.progress,
    // Nothing is open any more, so that it may go on, at once and without its client.
    onLeaseOver: outcome.progress === undefined ? current.onLeaseOver : ('resume' as const),
    reconcileAfter: now,
  })
  return outcome.kind === 'not_landed' ? going : changedRecord(going, { recoveryPoint: outcome.recoveryPoint })
}

/** With the doubt that it ends: nothing else on record says later that there was one. */
function kept(current: StoredRecord, { evidence, outcome }: Settlement, now: number): KeptEvidence {
  const { errorCode = 'unknown', doubtedAt = now, fence, looks } = current
  return { ...evidence, says: outcome.kind, at: now, doubt: { errorCode, at: doubtedAt, fence, looks } }
}

/** What the reaper does to a record, whose effects it says to be final: makes it a tombstone, deletes it, or leaves it alone. */
export function reap(
  found: StoredRecord,
  now: number,
  effects: 'final' | 'open' = 'open',
): StoredRecord | 'deleted' | undefined {
  const current = effects === 'final' ? changedRecord(found, { hasEffects: false }) : found
  if (!isExpired(current, now)) return undefined
  if (nextState(current.state, 'bury') !== undefined) {
    const buried = changedRecord(idle(current, 'bury'), {
      answer: undefined,
      answerVersion: undefined,
      progress: undefined,
      trace: undefined,
    })
    // One with effects was not free before now. The last of them may just have shown its key to a provider.
    return found.hasEffects ? changedRecord(buried, { expiresAt: now }) : buried
  }
  const tombstoneUntil = (current.expiresAt ?? Number.POSITIVE_INFINITY) + current.tombstoneMs
  return nextState(current.state, 'delete') === 'none' && now >= tombstoneUntil ? 'deleted' : undefined
}

/** What an operator's purge does: the answer is gone at once, and the key is as free as past its retention. */
export function purge(current: StoredRecord, now: number): StoredRecord | undefined {
  if (nextState(current.state, 'purge') === undefined) return undefined
  return changedRecord(idle(current, 'purge'), {
    answer: undefined,
    answerVersion: undefined,
    progress: undefined,
    expiresAt: now,
  })
}

/** Expiry is judged here, by time, and does not wait for the reaper. Doubt and unfinished work never expire. */
export function isExpired(record: StoredRecord, now: number): boolean {
  if (record.state === 'expired') return true
  if (record.expiresAt === undefined || now < record.expiresAt || record.hasEffects) return false
  return nextState(record.state, 'bury') !== undefined && (record.answer !== undefined || nothingCommitted(record))
}

/** No holder has this: evidence ends every claim, so that a late one cannot take somebody else's settlement for its own. */
const noClaim = ''

/** The error code of a claim that nobody renewed. */
export const leaseOver = 'in_progress_lock_expired'

/** The error code of what nobody came back for. */
export const abandoned = 'abandoned'

function isAbandoned(record: StoredRecord, operations: readonly string[], now: number): boolean {
  if (nextState(record.state, 'abandon') === undefined) return false
  if (record.expiresAt === undefined || now < record.expiresAt) return false
  const goesOn = operations.includes(record.operation)
  const waitsInVain = isInterrupted(record, now) && !goesOn
  if (record.state === 'in_progress') return waitsInVain
  // What evidence has settled is due at once, also where no worker could ever go on with it.
  return !nothingCommitted(record) && (record.reconcileAfter === undefined || waitsInVain)
}

function isSweepable(record: StoredRecord, now: number): boolean {
  return (
    nextState(record.state, 'sweep') !== undefined && record.onLeaseOver === 'doubt' && (record.leaseUntil ?? 0) <= now
  )
}

/** Nothing of it is on record, neither rows nor a call that may have landed. */
function nothingCommitted(record: StoredRecord): boolean {
  return record.recoveryPoint === started && !record.isBegun
}

function isDue({ reconcileAfter }: StoredRecord, now: number): boolean {
  return reconcileAfter !== undefined && reconcileAfter <= now
}

/** The claim is the last one given, and the state lets its holder do this. */
function holds(current: StoredRecord | undefined, claim: Claim, on: Happening): current is StoredRecord {
  return current !== undefined && isLastClaim(current, claim) && nextState(current.state, on) !== undefined
}

/** The same claim has already brought the record to this state: its reply was lost. */
function isRepeated(current: StoredRecord | undefined, claim: Claim, to: State): current is StoredRecord {
  return current !== undefined && current.state === to && isLastClaim(current, claim)
}

/** Nobody has claimed it since. */
function isLast(current: StoredRecord, { generation, fence }: Pick<Settlement, 'generation' | 'fence'>): boolean {
  return current.generation === generation && (fence === undefined || current.fence === fence)
}

function isLastClaim(current: StoredRecord, claim: Claim): boolean {
  return current.fence === claim.fence && current.claimId === claim.claimId && current.generation === claim.generation
}

function isOwn(current: StoredRecord, reservation: Reservation): boolean {
  return current.state === 'in_progress' && current.claimId === reservation.claimId
}

/** Whether a request is another one than the record was made for, or cannot be told to be the same. */
export function compared(
  current: Pick<StoredRecord, 'fingerprint' | 'operation'>,
  reservation: Pick<Reservation, 'fingerprints'>,
): Mismatched | Incomparable | undefined {
  if (reservation.fingerprints.some((candidate) => equalFingerprints(candidate, current.fingerprint))) return undefined
  const recipe = recipeOf(current.fingerprint)
  if (reservation.fingerprints.some((candidate) => recipeOf(candidate) === recipe)) return { kind: 'mismatched' }
  return { kind: 'incomparable', recipe, operation: current.operation }
}

type Mismatched = Extract<Verdict, { readonly kind: 'mismatched' }>
type Incomparable = Extract<Verdict, { readonly kind: 'incomparable' }>

function taken(kind: 'reserved' | 'resumed', next: StoredRecord): Reserved {
  const { scope, key, generation, fence, claimId } = next
  return { verdict: { kind, claim: { scope, key, generation, fence, claimId }, record: next }, next }
}

function completedVerdict(record: StoredRecord, answer: StoredAnswer, now: number): Verdict {
  const { expiresAt } = record
  return { kind: 'completed', answer, record, expiresInMs: expiresAt === undefined ? undefined : expiresAt - now }
}

function unknownVerdict(record: StoredRecord, now: number): Extract<Verdict, { readonly kind: 'unknown' }> {
  return { kind: 'unknown', reconcileInMs: Math.max(0, (record.reconcileAfter ?? now) - now) }
}
