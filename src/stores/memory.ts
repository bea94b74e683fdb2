import type { CallMark } from '../engine/call-store.js'
import { copyOfAnswer, copyOfRecord } from '../engine/copies.js'
import { enact } from '../engine/deeds.js'
import { boundedLimit } from '../engine/limit.js'
import { pageOf } from '../engine/listing.js'
import type { RecordName, StoredRecord } from '../engine/record.js'
import type { Store } from '../engine/store.js'
import { tenantOf, tenantsAmong } from '../engine/tenant.js'
import * as transitions from '../engine/transitions.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { limits, telemetryBounds } from '../kernel/limits.js'
import { memoryAudit } from './memory/audit.js'
import { memoryCalls } from './memory/calls.js'

export interface MemoryStoreOptions {
  /** This store's own clock. */
  readonly clock?: Clock
}

/**
 * The port in its plainest words: a map, for tests and for routes that may forget. Nothing survives the process
 * and no other process sees it. Between reading a record and writing it there is no `await`, so every step is
 * atomic.
 *
 * @example
 * const hapax = engine({ store: memoryStore() })
 */
export function memoryStore({ clock = systemClock }: MemoryStoreOptions = {}): Store {
  const records = new Map<string, StoredRecord>()
  let lastId = 0
  const nextId = () => ++lastId

  // Copied on the way in, and whatever stays here on the way out: whoever overwrites his own bytes later changes nothing.
  const get = (name: RecordName) => records.get(address(name))
  const put = (next: StoredRecord) => records.set(address(next), copyOfRecord(next))

  /** Writes what a transition gave; a refused one changes nothing. */
  const write = (next: StoredRecord | undefined): next is StoredRecord => {
    if (next !== undefined) put(next)
    return next !== undefined
  }

  const { mark, forget, ...calls } = memoryCalls(
    () => clock.now(),
    (name) => {
      const record = get(name)
      return record && copyOfRecord(record)
    },
    (name) => {
      const record = get(name)
      if (record?.state === 'unknown')
        write(
          transitions.postpone(record, { generation: record.generation, looks: record.looks, afterMs: 0 }, clock.now()),
        )
    },
  )
  const marked = (next: StoredRecord | undefined, call: CallMark | undefined): boolean => {
    if (!write(next)) return false
    if (call !== undefined) mark(next, call)
    return true
  }

  /** Those of some operations that `pick` gives something for. */
  const waiting = (
    operations: readonly string[],
    limit: number,
    pick: (record: StoredRecord) => StoredRecord | undefined,
  ) => {
    const most = boundedLimit(limit, limits.batch)
    const found: StoredRecord[] = []
    for (const record of records.values()) {
      if (found.length === most) break
      const picked = operations.includes(record.operation) ? pick(record) : undefined
      if (picked !== undefined) found.push(copyOfRecord(picked))
    }
    return found
  }

  return {
    name: 'memory',
    grade: 'best-effort',
    async open() {},
    async close() {},

    reserve(reservation) {
      const at = address(reservation)
      const { verdict, next } = transitions.reserve(records.get(at), reservation, clock.now(), nextId)
      if (next !== undefined) records.set(at, copyOfRecord(next))
      if (verdict.kind !== 'completed') return verdict
      const record = copyOfRecord(verdict.record)
      return { ...verdict, answer: record.answer ?? verdict.answer, record }
    },
    async renew(claim, leaseMs) {
      return write(transitions.renew(get(claim), claim, leaseMs, clock.now()))
    },
    async checkpoint(claim, step) {
      return marked(transitions.checkpoint(get(claim), claim, step, clock.now()), step.call)
    },
    complete(claim, completion) {
      const at = address(claim)
      const own = { answer: copyOfAnswer(completion.answer), answerVersion: completion.answerVersion }
      const next = transitions.complete(records.get(at), claim, own, clock.now())
      if (next === undefined) return false
      // Nobody else holds any of it.
      records.set(at, next)
      return { expiresAt: next.expiresAt }
    },
    async release(claim) {
      const current = get(claim)
      const next = transitions.release(current, claim)
      if (next !== 'deleted' || current === undefined) return write(next === 'deleted' ? undefined : next)
      forget(current.id, 'stay')
      return records.delete(address(claim))
    },
    async fail(claim, failure) {
      return write(transitions.fail(get(claim), claim, failure, clock.now()))
    },
    async doubt(claim, reason) {
      return write(transitions.doubt(get(claim), claim, reason, clock.now()))
    },
    async settle(name, settlement) {
      return marked(transitions.settle(get(name), settlement, clock.now()), settlement.call)
    },

    async sweep(limit) {
      const most = boundedLimit(limit, limits.batch)
      const now = clock.now()
      const swept: StoredRecord[] = []
      for (const record of records.values()) {
        if (swept.length === most) break
        const next = transitions.sweep(record, now)
        if (write(next)) swept.push(next)
      }
      return swept
    },
    async abandon({ operations, limit }) {
      const most = boundedLimit(limit, limits.batch)
      const now = clock.now()
      const left = [...records.values()].flatMap((record) => transitions.abandon(record, operations, now) ?? [])
      const oldest = left.sort((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0)).slice(0, most)
      for (const next of oldest) put(next)
      return oldest
    },
    async interrupted({ operations, limit }) {
      return waiting(operations, limit, (record) =>
        transitions.isInterrupted(record, clock.now()) ? record : undefined,
      )
    },
    async doubts({ operations, limit, holdMs }) {
      return waiting(operations, limit, (record) => {
        const next = transitions.takeDoubt(record, holdMs, clock.now())
        return write(next) ? next : undefined
      })
    },
    async postpone(name, plan) {
      return write(transitions.postpone(get(name), plan, clock.now()))
    },
    async reap(limit) {
      const most = boundedLimit(limit, limits.batch)
      const now = clock.now()
      let buried = 0
      let deleted = 0
      for (const record of records.values()) {
        const next = transitions.reap(record, now)
        if (next === 'deleted' && deleted < most) {
          records.delete(address(record))
          forget(record.id, 'go')
          deleted++
        } else if (next !== undefined && next !== 'deleted' && buried < most) {
          put(next)
          buried++
        }
      }
      return { buried, deleted }
    },

    async find(name) {
      const record = get(name)
      return record && copyOfRecord(record)
    },
    list: async (query) => pageOf(records.values(), { ...query, limit: boundedLimit(query.limit, limits.page) }),
    async usage(tenant, atMost) {
      const most = boundedLimit(atMost, limits.countedKeys)
      const now = clock.now()
      let keys = 0
      let bytes = 0
      for (const record of records.values()) {
        if (keys === most) break
        if (tenantOf(record.scope) !== tenant || transitions.isExpired(record, now)) continue
        keys++
        bytes += record.answer?.kind === 'kept' ? record.answer.body.byteLength : 0
      }
      return { keys, bytes }
    },
    async reapable(atMost) {
      const most = boundedLimit(atMost, telemetryBounds.countedRows)
      const now = clock.now()
      const nexts = [...records.values()].map((record) => transitions.reap(record, now))
      const deleted = nexts.filter((next) => next === 'deleted').length
      const buried = nexts.filter((next) => next !== undefined).length - deleted
      return { buried: Math.min(buried, most), deleted: Math.min(deleted, most) }
    },
    async measure(atMost) {
      const most = boundedLimit(atMost, telemetryBounds.countedRows)
      const now = clock.now()
      const kept = [...records.values()].filter(({ state }) => state !== 'expired')
      const running = kept.filter(({ state }) => state === 'in_progress').slice(0, most)
      const doubts = kept.filter(({ state }) => state === 'unknown').slice(0, most)
      const oldestMs = (since: readonly number[]) => since.reduce((oldest, at) => Math.max(oldest, now - at), 0)
      return {
        keys: Math.min(kept.length, most),
        inProgress: { count: running.length, oldestMs: oldestMs(running.map(({ lastRunAt }) => lastRunAt)) },
        unknown: {
          count: doubts.length,
          oldestMs: oldestMs(doubts.map(({ doubtedAt = now }) => doubtedAt)),
          leftToOperator: doubts.filter(({ reconcileAfter }) => reconcileAfter === undefined).length,
        },
      }
    },
    tenants: async (query) => tenantsAmong(records.values(), query),
    calls,
    audit: memoryAudit(
      () => clock.now(),
      (deed, now) => {
        const came = enact(get(deed.name), deed, now, 'final')
        if (came.kind === 'done') marked(came.next, came.call)
        return came
      },
    ),
  }
}

/** A scope never holds a line break (it is escaped), so no two names share an address. */
function address({ scope, key }: RecordName): string {
  return `${scope}\n${key}`
}
