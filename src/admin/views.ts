import type { AuditEntry } from '../engine/audit-store.js'
import type { KeptTestimony, StoredCall } from '../engine/call-store.js'
import { digestHex } from '../engine/digest.js'
import type { StoredEffect } from '../engine/effect-store.js'
import { resourceOf } from '../engine/listing.js'
import type { EndedDoubt, StoredRecord } from '../engine/record.js'
import { scopeParts } from '../engine/scope.js'
import type { State } from '../engine/state.js'
import { type PlainState, plainStateOf } from './plain-states.js'

/** What operators are shown, as JSON: names are those of the wire, times are texts, and no payload or answer is in any. */

export interface RecordView {
  readonly id: number
  readonly scope: string
  readonly tenant: string
  readonly key: string
  /** The digest by which events and the audit log name it. */
  readonly record: string
  readonly operation: string
  readonly state: State
  /** The same in three words; absent once it has expired or was purged, of which they know nothing. */
  readonly plain_state?: PlainState
  readonly status?: number
  readonly resource?: string
  readonly error_code?: string
  readonly generation: number
  readonly attempt: number
  readonly fence: number
  readonly recovery_point: string
  readonly looks: number
  /** In doubt, and nobody but a person looks at it. */
  readonly left_to_operator: boolean
  readonly created_at: string
  readonly last_run_at: string
  readonly lease_until?: string
  readonly doubted_at?: string
  readonly looked_at_next?: string
  readonly completed_at?: string
  readonly expires_at?: string
}

export interface EffectView {
  readonly id: number
  readonly kind: string
  readonly scope: string
  readonly operation: string
  readonly phase: string
  readonly state: StoredEffect['state']
  readonly downstream_key: string
  readonly tries: number
  readonly error_code?: string
  readonly provider_id?: string
  readonly looks: number
  readonly left_to_operator: boolean
  readonly created_at: string
  readonly doubted_at?: string
  readonly looked_at_next?: string
  readonly finished_at?: string
}

export interface CallView {
  readonly phase: string
  readonly downstream_key: string
  readonly state: StoredCall['state']
  readonly generation: number
  readonly begun_at: string
  readonly said: readonly SaidView[]
}

export interface SaidView {
  readonly says: string
  readonly by: string
  readonly why: string
  readonly at: string
}

/** A doubt: the one that is open, or one that evidence has ended. */
export interface DoubtView {
  readonly since: string
  readonly error_code: string
  /** The claim that was in doubt. */
  readonly fence: number
  /** How often it was looked at in vain. */
  readonly looks: number
  /** What ended it; absent while it is open. */
  readonly ended?: SaidView
}

export interface AuditView extends Omit<AuditEntry, 'at' | 'before' | 'after'> {
  readonly at: string
  readonly before: unknown
  readonly after: unknown
}

export function recordView(record: StoredRecord): RecordView {
  const { state, answer, errorCode, reconcileAfter } = record
  const resource = resourceOf(record)
  const plain = plainStateOf(state)
  return {
    id: record.id,
    scope: record.scope,
    tenant: scopeParts(record.scope).tenant,
    key: record.key,
    record: digestHex(record),
    operation: record.operation,
    state,
    ...(plain !== undefined && { plain_state: plain }),
    ...(answer && { status: answer.status }),
    ...(resource !== undefined && { resource }),
    ...(errorCode !== undefined && { error_code: errorCode }),
    generation: record.generation,
    attempt: record.attempt,
    fence: record.fence,
    recovery_point: record.recoveryPoint,
    looks: record.looks,
    left_to_operator: state === 'unknown' && reconcileAfter === undefined,
    created_at: timeText(record.createdAt),
    last_run_at: timeText(record.lastRunAt),
    ...timed('lease_until', record.leaseUntil),
    ...timed('doubted_at', record.doubtedAt),
    ...timed('looked_at_next', reconcileAfter),
    ...timed('completed_at', record.completedAt),
    ...timed('expires_at', record.expiresAt),
  }
}

export function effectView(effect: StoredEffect): EffectView {
  const { id, kind, scope, operation, phase, state, downstreamKey, started, errorCode, providerId } = effect
  return {
    id,
    kind,
    scope,
    operation,
    phase,
    state,
    downstream_key: downstreamKey,
    tries: started,
    ...(errorCode !== undefined && { error_code: errorCode }),
    ...(providerId !== undefined && { provider_id: providerId }),
    looks: effect.looks,
    left_to_operator: state === 'unknown' && effect.reconcileAfter === undefined,
    created_at: timeText(effect.createdAt),
    ...timed('doubted_at', effect.doubtedAt),
    ...timed('looked_at_next', effect.reconcileAfter),
    ...timed('finished_at', effect.finishedAt),
  }
}

export function callView(call: StoredCall, said: readonly KeptTestimony[]): CallView {
  const { phase, key, state, generation, begunAt } = call
  const about = said.filter(({ downstreamKey }) => downstreamKey === key).map(saidView)
  return { phase, downstream_key: key, state, generation, begun_at: timeText(begunAt), said: about }
}

export function saidView({ says, by, why, at }: Pick<KeptTestimony, 'by' | 'why' | 'at'> & { says: string }): SaidView {
  return { says, by, why, at: timeText(at) }
}

/** Of this generation, in order. One that its own slow holder ended by an answer left nothing on record. */
export function doubtViews(record: StoredRecord): readonly DoubtView[] {
  const { evidence, state, doubtedAt, errorCode = 'unknown', fence, looks } = record
  const ended = evidence.flatMap((said) => (said.doubt ? [{ ...openView(said.doubt), ended: saidView(said) }] : []))
  if (state !== 'unknown' || doubtedAt === undefined) return ended
  return [...ended, openView({ at: doubtedAt, errorCode, fence, looks })]
}

function openView({ at, errorCode, fence, looks }: EndedDoubt): DoubtView {
  return { since: timeText(at), error_code: errorCode, fence, looks }
}

export function auditView({ at, before, after, ...entry }: AuditEntry): AuditView {
  return { ...entry, at: timeText(at), before: JSON.parse(before), after: JSON.parse(after) }
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

function timed<Name extends string>(name: Name, ms: number | undefined): { readonly [N in Name]?: string } {
  return (ms === undefined ? {} : { [name]: timeText(ms) }) as { readonly [N in Name]?: string }
}
