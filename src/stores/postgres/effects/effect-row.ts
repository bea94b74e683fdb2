import type { EffectState, StoredEffect } from '../../../engine/effect-store.js'
import type { OnLeaseOver } from '../../../engine/record.js'
import type { Scope } from '../../../engine/scope.js'
import { milliseconds } from '../columns.js'
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

export function effectOf(row: Row): StoredEffect {
  const text = (name: keyof typeof columns) => row[name] ?? ''
  const number = (name: keyof typeof columns) => Number(row[name])
  const perhaps = <T>(name: keyof typeof columns, read: (value: string) => T) => {
    const value = row[name]
    return value === null || value === undefined ? undefined : read(value)
  }
  return {
    id: number('id'),
    fence: number('fence'),
    scope: text('scope_id') as Scope,
    recordId: number('record_id'),
    operation: text('operation'),
    generation: number('generation'),
    kind: text('kind'),
    payload: bytesOf(text('payload')),
    downstreamKey: text('downstream_key'),
    phase: text('phase'),
    sequence: number('sequence'),
    order: perhaps('ordering', String),
    state: text('state') as EffectState,
    dueAt: number('due_at'),
    leaseUntil: perhaps('leased_until', Number),
    onLeaseOver: text('on_lease_over') as OnLeaseOver,
    started: number('started'),
    finished: number('finished'),
    firstStartedAt: perhaps('first_started_at', Number),
    providerId: perhaps('provider_id', String),
    result: perhaps('result', bytesOf),
    errorCode: perhaps('last_error_code', String),
    doubtedAt: perhaps('doubted_at', Number),
    looks: number('looks'),
    reconcileAfter: perhaps('reconcile_after', Number),
    createdAt: number('created_at'),
    finishedAt: perhaps('finished_at', Number),
  }
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text.slice('\\x'.length), 'hex')
}
