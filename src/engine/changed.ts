import type { StoredEffect } from './effect-store.js'
import type { StoredRecord } from './record.js'

/**
 * Copies in which something has changed, written member by member: so all records are of one shape, and all effects, whatever
 * they have been through. Each spread would make a shape of its own, and whoever reads one would have to look for its members.
 */

export function changedRecord(record: StoredRecord, changes: Partial<StoredRecord>): StoredRecord {
  return Object.assign(
    {
      id: record.id,
      scope: record.scope,
      key: record.key,
      generation: record.generation,
      fence: record.fence,
      claimId: record.claimId,
      state: record.state,
      operation: record.operation,
      fingerprint: record.fingerprint,
      attempt: record.attempt,
      leaseUntil: record.leaseUntil,
      onLeaseOver: record.onLeaseOver,
      recoveryPoint: record.recoveryPoint,
      progress: record.progress,
      isBegun: record.isBegun,
      hasEffects: record.hasEffects,
      answer: record.answer,
      answerVersion: record.answerVersion,
      errorCode: record.errorCode,
      reconcileAfter: record.reconcileAfter,
      looks: record.looks,
      doubtedAt: record.doubtedAt,
      evidence: record.evidence,
      trace: record.trace,
      createdAt: record.createdAt,
      lastRunAt: record.lastRunAt,
      completedAt: record.completedAt,
      expiresAt: record.expiresAt,
      retentionMs: record.retentionMs,
      tombstoneMs: record.tombstoneMs,
    } satisfies StoredRecord,
    changes,
  )
}

export function changedEffect(effect: StoredEffect, changes: Partial<StoredEffect>): StoredEffect {
  return Object.assign(
    {
      id: effect.id,
      fence: effect.fence,
      scope: effect.scope,
      recordId: effect.recordId,
      operation: effect.operation,
      generation: effect.generation,
      kind: effect.kind,
      payload: effect.payload,
      downstreamKey: effect.downstreamKey,
      phase: effect.phase,
      sequence: effect.sequence,
      order: effect.order,
      state: effect.state,
      dueAt: effect.dueAt,
      leaseUntil: effect.leaseUntil,
      onLeaseOver: effect.onLeaseOver,
      started: effect.started,
      finished: effect.finished,
      firstStartedAt: effect.firstStartedAt,
      providerId: effect.providerId,
      result: effect.result,
      errorCode: effect.errorCode,
      doubtedAt: effect.doubtedAt,
      looks: effect.looks,
      reconcileAfter: effect.reconcileAfter,
      createdAt: effect.createdAt,
      finishedAt: effect.finishedAt,
    } satisfies StoredEffect,
    changes,
  )
}
