import { isFinal } from '../../../src/engine/effect-store.js'
import { pageOf } from '../../../src/engine/listing.js'
import { type StoredRecord, started } from '../../../src/engine/record.js'
import type { ListQuery, TenantQuery, Usage, WaitingQuery } from '../../../src/engine/store.js'
import { tenantOf, tenantsAmong } from '../../../src/engine/tenant.js'
import * as transitions from '../../../src/engine/transitions.js'
import type { RecordRow } from './database.js'
import { forgetRecord } from './forgetting.js'
import type { Line } from './line.js'
import { allSeen } from './table.js'
import { updateFree } from './update.js'

/** What the statements on many records do. All of them skip what is locked, or only read. */
export function recordBatches(line: Line) {
  const { database, now } = line
  const { records, effects } = database.tables
  const all = () => allSeen(records, undefined).map(({ record }) => record)

  const changed = (
    to: (record: StoredRecord) => StoredRecord | 'deleted' | undefined,
    at: (record: StoredRecord) => number | undefined,
    limit: number,
  ) =>
    updateFree<string, RecordRow>(records, {
      to({ record }) {
        const next = to(record)
        return next === undefined || next === 'deleted'
          ? next
          : { record: next, committedIn: undefined, judgedAt: now() }
      },
      at: ({ record }) => at(record) ?? Number.POSITIVE_INFINITY,
      limit,
    }).map(({ record }) => record)

  const reaped = (record: StoredRecord) => {
    const isOpen = record.hasEffects && hasOpenEffects(record)
    return transitions.reap(record, now(), isOpen ? 'open' : 'final')
  }
  const hasOpenEffects = ({ id }: StoredRecord) =>
    allSeen(effects, undefined).some(({ recordId, state }) => recordId === id && !isFinal(state))

  /** For whoever judges: told by what is there, and not by what the engine makes of it. */
  const noteMet = (record: StoredRecord) => {
    const { state, expiresAt, recoveryPoint, isBegun } = record
    if (expiresAt === undefined || now() < expiresAt || state === 'expired') return
    if (hasOpenEffects(record)) database.metByReaper.push('open effects')
    if (state === 'failed_retryable' && (recoveryPoint !== started || isBegun)) database.metByReaper.push('half-done')
  }

  return {
    sweep: (limit: number) =>
      changed(
        (record) => transitions.sweep(record, now()),
        ({ leaseUntil }) => leaseUntil,
        limit,
      ),
    abandon: ({ operations, limit }: WaitingQuery) =>
      changed(
        (record) => transitions.abandon(record, operations, now()),
        ({ expiresAt }) => expiresAt,
        limit,
      ),
    /** Leases that are over come before failures whose time has come. */
    interrupted({ operations, limit }: WaitingQuery) {
      const found = all().filter(
        (record) => operations.includes(record.operation) && transitions.isInterrupted(record, now()),
      )
      const leased = found.filter(({ state }) => state === 'in_progress').sort(by(({ leaseUntil = 0 }) => leaseUntil))
      const failed = found.filter(({ state }) => state !== 'in_progress')
      return [...leased, ...failed.sort(by(({ reconcileAfter = 0 }) => reconcileAfter))].slice(0, limit)
    },
    doubts: ({ operations, limit, holdMs }: WaitingQuery & { readonly holdMs: number }) =>
      changed(
        (record) => (operations.includes(record.operation) ? transitions.takeDoubt(record, holdMs, now()) : undefined),
        ({ reconcileAfter }) => reconcileAfter,
        limit,
      ),
    bury: (limit: number) =>
      changed(
        (record) => {
          noteMet(record)
          const next = reaped(record)
          return next === 'deleted' ? undefined : next
        },
        ({ expiresAt }) => expiresAt,
        limit,
      ).length,
    forget(limit: number) {
      const gone = changed(
        (record) => (reaped(record) === 'deleted' ? 'deleted' : undefined),
        ({ expiresAt = 0, tombstoneMs }) => expiresAt + tombstoneMs,
        limit,
      )
      for (const record of gone) forgetRecord(line, record, 'go')
      return gone.length
    },
    list: (query: ListQuery) => pageOf(all(), query),
    tenants: (query: TenantQuery) => tenantsAmong(all(), query),
    usage(tenant: string, atMost: number): Usage {
      const active = all().filter(
        (record) => tenantOf(record.scope) === tenant && !transitions.isExpired(record, now()),
      )
      const counted = active.slice(0, atMost)
      const bytes = counted.map(({ answer }) => (answer?.kind === 'kept' ? answer.body.byteLength : 0))
      return { keys: counted.length, bytes: bytes.reduce((sum, more) => sum + more, 0) }
    },
  }
}

function by(at: (record: StoredRecord) => number) {
  return (a: StoredRecord, b: StoredRecord) => at(a) - at(b)
}
