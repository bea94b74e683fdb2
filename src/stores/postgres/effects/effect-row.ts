import type { EffectState, StoredEffect } from '../../../engine/effect-store.js'
import type { OnLeaseOver } from '../../../engine/record.js'
import type { Scope } from '../../../engine/scope.js'
import { bytesOf, milliseconds } from '../columns.js'
import type { Row } from '../connections.js'

/** How an effect lies in its two rows, and how it is read: `e` is what shall happen, `s` how far it is. */

const columns = {
  id: 'e.id',
  scope_id: 'e.scope_id',
  record_id: 'e.record_id',
  operation: 'e.operation',
  generation: 'e.generation',
  kind: 'e.kind',
  payload: 'e.payload',
  downstream_key: 'e.downstream_key',
  phase: 'e.phase',
  sequence: 'e.sequence',
  ordering: 'e.ordering',
  created_at: milliseconds('e.created_at'),
  fence: 's.fence',
  state: 's.state',
  due_at: milliseconds('s.due_at'),
  leased_until: milliseconds('s.leased_until'),
  on_lease_over: 's.on_lease_over',
  started: 's.started',
  finished: 's.finished',
  first_started_at: milliseconds('s.first_started_at'),
  provider_id: 's.provider_id',
  result: 's.result',
  last_error_code: 's.last_error_code',
  doubted_at: milliseconds('s.doubted_at'),
  looks: 's.looks',
  reconcile_after: milliseconds('s.reconcile_after'),
  finished_at: milliseconds('s.finished_at'),
} as const

export const effectGives: readonly string[] = Object.keys(columns)
export const effectColumns = Object.values(columns).join(', ')

/** What every effect has alike that was claimed a moment ago: nobody need ask for it. */
const claimed = {
  state: 'leased',
  on_lease_over: 'resume',
  doubted_at: null,
  looks: '0',
  reconcile_after: null,
  finished_at: null,
} as const satisfies Partial<Record<keyof typeof columns, string | null>>

const asked = Object.entries(columns).filter(([name]) => !Object.hasOwn(claimed, name))

export const claimedGives: readonly string[] = asked.map(([name]) => name)
export const claimedColumns = asked.map(([, column]) => column).join(', ')

export function effectOf(row: Row): StoredEffect {
  return effectIn(row, row)
}

export function claimedOf(row: Row): StoredEffect {
  return effectIn(row, claimed)
}

function effectIn(row: Row, live: Row): StoredEffect {
  return {
    id: Number(row.id),
    fence: Number(row.fence),
    scope: text(row.scope_id) as Scope,
    recordId: Number(row.record_id),
    operation: text(row.operation),
    generation: Number(row.generation),
    kind: text(row.kind),
    payload: bytesOf(text(row.payload)),
    downstreamKey: text(row.downstream_key),
    phase: text(row.phase),
    sequence: Number(row.sequence),
    order: row.ordering ?? undefined,
    state: text(live.state) as EffectState,
    dueAt: Number(row.due_at),
    leaseUntil: numberIn(row.leased_until),
    onLeaseOver: text(live.on_lease_over) as OnLeaseOver,
    started: Number(row.started),
    finished: Number(row.finished),
    firstStartedAt: numberIn(row.first_started_at),
    providerId: row.provider_id ?? undefined,
    result: row.result == null ? undefined : bytesOf(row.result),
    errorCode: row.last_error_code ?? undefined,
    doubtedAt: numberIn(live.doubted_at),
    looks: Number(live.looks),
    reconcileAfter: numberIn(live.reconcile_after),
    createdAt: Number(row.created_at),
    finishedAt: numberIn(live.finished_at),
  }
}

function text(value: string | null | undefined): string {
  return value ?? ''
}

function numberIn(value: string | null | undefined): number | undefined {
  return value == null ? undefined : Number(value)
}

/** The order of its state, which begins with the scope. */
export function orderingOf({ scope, order }: StoredEffect): readonly string[] {
  return order === undefined ? [] : [`${scope} ${order}`]
}
