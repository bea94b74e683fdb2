import { changedEffect } from '../../../src/engine/changed.js'
import { copyOfAnswer, copyOfRecord } from '../../../src/engine/copies.js'
import type { EffectOutcome, EffectResult, StoredEffect } from '../../../src/engine/effect-store.js'
import type { Testimony } from '../../../src/engine/inbox-store.js'
import type { Completion, Settlement, SingleOutcome, SingleStep, Step } from '../../../src/engine/store.js'
import type { Reservation, Verdict } from '../../../src/engine/verdict.js'

/** What the store is given is copied before it is sent, as a driver would, and what it gives when it arrives. */

export function ownReservation(reservation: Reservation): Reservation {
  const { progress } = reservation
  if (progress === undefined) return reservation
  // Member by member: every request comes by here, and a spread costs more than all the rest of it.
  return {
    scope: reservation.scope,
    key: reservation.key,
    claimId: reservation.claimId,
    operation: reservation.operation,
    fingerprints: reservation.fingerprints,
    leaseMs: reservation.leaseMs,
    retentionMs: reservation.retentionMs,
    tombstoneMs: reservation.tombstoneMs,
    onLeaseOver: reservation.onLeaseOver,
    onExpired: reservation.onExpired,
    progress: Buffer.from(progress),
    trace: reservation.trace,
    onNew: reservation.onNew,
  }
}

export function ownCompletion({ answer, answerVersion }: Completion): Completion {
  return { answer: copyOfAnswer(answer), answerVersion }
}

export function ownSingleStep<T>({ value, rows, completion, effects = [] }: SingleStep<T>): SingleStep<T> {
  return { value, rows, completion: ownCompletion(completion), effects }
}

export function ownWrite(write: Step<unknown>['write']): Step<unknown>['write'] {
  return write.kind === 'complete' ? { kind: 'complete', ...ownCompletion(write) } : withOwnProgress(write)
}

export function ownSettlement(settlement: Settlement): Settlement {
  const { outcome } = settlement
  if (outcome.kind !== 'completed') return { ...settlement, outcome: withOwnProgress(outcome) }
  return { ...settlement, outcome: { kind: 'completed', ...ownCompletion(outcome) } }
}

export function ownOutcome(outcome: EffectOutcome): EffectOutcome {
  return outcome.kind === 'done' ? { kind: 'done', ...ownResult(outcome) } : outcome
}

export function ownResult({ providerId, result }: EffectResult): EffectResult {
  return { providerId, result: Buffer.from(result) }
}

export function ownTestimony(testimony: Testimony): Testimony {
  const { result } = testimony
  return result === undefined ? testimony : { ...testimony, result: Buffer.from(result) }
}

export function copyOfVerdict(verdict: Verdict): Verdict {
  switch (verdict.kind) {
    case 'reserved':
    case 'resumed':
      return { kind: verdict.kind, claim: verdict.claim, record: copyOfRecord(verdict.record) }
    case 'completed': {
      const record = copyOfRecord(verdict.record)
      const { expiresInMs } = verdict
      return { kind: 'completed', answer: record.answer ?? verdict.answer, record, expiresInMs }
    }
    default:
      return verdict
  }
}

export function copyOfOutcome<T>(outcome: SingleOutcome<T>): SingleOutcome<T> {
  if (outcome.kind === 'committed') return outcome
  return { kind: 'judged', verdict: copyOfVerdict(outcome.verdict) as typeof outcome.verdict }
}

export function copyOfEffect(effect: StoredEffect): StoredEffect {
  const { payload, result } = effect
  return changedEffect(effect, { payload: Buffer.from(payload), result: result && Buffer.from(result) })
}

export function withOwnProgress<T extends { readonly progress?: Uint8Array | undefined }>(given: T): T {
  return given.progress === undefined ? given : { ...given, progress: Buffer.from(given.progress) }
}
