import type { EffectState, StoredEffect } from '../../../engine/effect-store.js'
import type { OnLeaseOver } from '../../../engine/record.js'
import type { Scope } from '../../../engine/scope.js'
import type { SqlValue } from '../../sql/row.js'

/** The one place that knows how an effect lies in its two rows: what shall happen, and how far it is. */

type Columns = Readonly<Record<string, (effect: Omit<StoredEffect, 'id'>) => SqlValue>>

/** Written once. */
export const intentColumns = {
  record_id: (effect) => effect.recordId,
  scope_id: (effect) => effect.scope,
  operation: (effect) => effect.operation,
  generation: (effect) => effect.generation,
  phase: (effect) => effect.phase,
  sequence: (effect) => effect.sequence,
  kind: (effect) => effect.kind,
  payload: (effect) => effect.payload,
  downstream_key: (effect) => effect.downstreamKey,
  ordering: (effect) => orderingOf(effect),
  created_at: (effect) => effect.createdAt,
} as const satisfies Columns

/** What workers write. */
export const stateColumns = {
  state: (effect) => effect.state,
  due_at: (effect) => effect.dueAt,
  fence: (effect) => effect.fence,
  leased_until: (effect) => effect.leaseUntil ?? null,
  on_lease_over: (effect) => effect.onLeaseOver,
  started: (effect) => effect.started,
  finished: (effect) => effect.finished,
  first_started_at: (effect) => effect.firstStartedAt ?? null,
  provider_id: (effect) => effect.providerId ?? null,
  result: (effect) => effect.result ?? null,
  last_error_code: (effect) => effect.errorCode ?? null,
  doubted_at: (effect) => effect.doubtedAt ?? null,
  looks: (effect) => effect.looks,
  reconcile_after: (effect) => effect.reconcileAfter ?? null,
  finished_at: (effect) => effect.finishedAt ?? null,
} as const satisfies Columns

/** Both rows as one. */
export interface EffectRow {
  readonly id: number
  readonly record_id: number
  readonly scope_id: Scope
  readonly operation: string
  readonly generation: number
  readonly phase: string
  readonly sequence: number
  readonly kind: string
  readonly payload: Uint8Array
  readonly downstream_key: string
  readonly ordering: string | null
  readonly created_at: number
  readonly state: EffectState
  readonly due_at: number
  readonly fence: number
  readonly leased_until: number | null
  readonly on_lease_over: OnLeaseOver
  readonly started: number
  readonly finished: number
  readonly first_started_at: number | null
  readonly provider_id: string | null
  readonly result: Uint8Array | null
  readonly last_error_code: string | null
  readonly doubted_at: number | null
  readonly looks: number
  readonly reconcile_after: number | null
  readonly finished_at: number | null
}

export function effectOf(row: EffectRow): StoredEffect {
  return {
    id: row.id,
    fence: row.fence,
    scope: row.scope_id,
    recordId: row.record_id,
    operation: row.operation,
    generation: row.generation,
    kind: row.kind,
    payload: row.payload,
    downstreamKey: row.downstream_key,
    phase: row.phase,
    sequence: row.sequence,
    order: row.ordering?.slice(row.scope_id.length + 1),
    state: row.state,
    dueAt: row.due_at,
    leaseUntil: row.leased_until ?? undefined,
    onLeaseOver: row.on_lease_over,
    started: row.started,
    finished: row.finished,
    firstStartedAt: row.first_started_at ?? undefined,
    providerId: row.provider_id ?? undefined,
    result: row.result ?? undefined,
    errorCode: row.last_error_code ?? undefined,
    doubtedAt: row.doubted_at ?? undefined,
    looks: row.looks,
    reconcileAfter: row.reconcile_after ?? undefined,
    createdAt: row.created_at,
    finishedAt: row.finished_at ?? undefined,
  }
}

/** A scope never holds a line break (it is escaped), so no two scopes share an order. */
export function orderingOf({ scope, order }: Pick<StoredEffect, 'scope' | 'order'>): string | null {
  return order === undefined ? null : `${scope}\n${order}`
}
