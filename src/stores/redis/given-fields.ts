import type { CallMark } from '../../engine/call-store.js'
import type { Claim } from '../../engine/record.js'
import type { Checkpoint, Plan, Settlement } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import type { Given } from './connection.js'
import { answerFields } from './record-fields.js'

/** What is asked of the store, as its scripts are given it. */

export function reservationFields(asked: Reservation): Given {
  const { scope, key, claimId, operation, leaseMs, retentionMs, tombstoneMs } = asked
  const { onLeaseOver, onExpired, onNew, progress, trace } = asked
  const fingerprints = asked.fingerprints.join('\n')
  const times = { leaseMs, retentionMs, tombstoneMs }
  return { scope, key, claimId, operation, fingerprints, ...times, onLeaseOver, onExpired, onNew, progress, trace }
}

export function claimFields({ generation, fence, claimId }: Claim): Given {
  return { generation, fence, claimId }
}

export function checkpointFields({
  recoveryPoint,
  onLeaseOver,
  leaseMs,
  progress,
  retentionMs,
  call,
}: Checkpoint): Given {
  return { recoveryPoint, onLeaseOver, leaseMs, progress, retentionMs, ...callFields(call) }
}

export function planFields({ generation, fence, state, dueAt, looks, afterMs, errorCode }: Plan): Given {
  return { generation, fence, state, dueAt, looks, afterMs, errorCode }
}

export function callFields(mark: CallMark | undefined): Given {
  if (mark === undefined) return {}
  return { callKind: mark.kind, callKey: mark.key, callPhase: mark.kind === 'begun' ? mark.phase : undefined }
}

export function settlementFields({ generation, fence, evidence, call, outcome }: Settlement): Given {
  const { by, why } = evidence
  const says = outcome.kind
  return {
    generation,
    fence,
    // The script knows when, and ends it.
    evidence: `${JSON.stringify({ by, why, says }).slice(0, -1)},"at":`,
    outcome: outcome.kind,
    ...callFields(call),
    ...(outcome.kind === 'completed' ? answerFields(outcome) : { progress: outcome.progress }),
    recoveryPoint: outcome.kind === 'landed' ? outcome.recoveryPoint : undefined,
  }
}
