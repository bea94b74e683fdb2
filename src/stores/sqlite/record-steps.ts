import type { CallMark } from '../../engine/call-store.js'
import { boundedLimit } from '../../engine/limit.js'
import type { StoredRecord } from '../../engine/record.js'
import * as transitions from '../../engine/transitions.js'
import { limits, telemetryBounds } from '../../kernel/limits.js'
import type { RecordSteps } from './protocol.js'
import type { Tables } from './tables.js'

/** Every step on records: read the row, ask the transition, write the row. A refused step writes nothing. */
export function recordStepsAt(
  now: number,
  { records, calls, effects, measurement }: Pick<Tables, 'records' | 'calls' | 'effects' | 'measurement'>,
): RecordSteps {
  let lastId: number | undefined
  const nextId = () => {
    lastId = (lastId ?? records.lastId()) + 1
    return lastId
  }

  const write = (current: StoredRecord | undefined, next: StoredRecord | undefined): next is StoredRecord => {
    if (next === undefined) return false
    records.write(current, next)
    return true
  }

  const marked = (current: StoredRecord | undefined, next: StoredRecord | undefined, call: CallMark | undefined) => {
    if (!write(current, next)) return false
    if (call !== undefined) calls.mark(next, call, now)
    return true
  }

  return {
    reserve(reservation) {
      const current = records.find(reservation)
      const { verdict, next } = transitions.reserve(current, reservation, now, nextId)
      write(current, next)
      return verdict
    },
    renew(claim, leaseMs) {
      const current = records.find(claim)
      return write(current, transitions.renew(current, claim, leaseMs, now))
    },
    checkpoint(claim, checkpoint) {
      const current = records.find(claim)
      return marked(current, transitions.checkpoint(current, claim, checkpoint, now), checkpoint.call)
    },
    complete(claim, completion) {
      const current = records.find(claim)
      const next = transitions.complete(current, claim, completion, now)
      return write(current, next) && { expiresAt: next.expiresAt }
    },
    release(claim) {
      const current = records.find(claim)
      const next = transitions.release(current, claim)
      if (next !== 'deleted' || current === undefined) return write(current, next === 'deleted' ? undefined : next)
      records.remove(current)
      calls.removeOf(current.id)
      return true
    },
    fail(claim, failure) {
      const current = records.find(claim)
      return write(current, transitions.fail(current, claim, failure, now))
    },
    doubt(claim, doubt) {
      const current = records.find(claim)
      return write(current, transitions.doubt(current, claim, doubt, now))
    },
    settle(name, settlement) {
      const current = records.find(name)
      return marked(current, transitions.settle(current, settlement, now), settlement.call)
    },

    sweep(limit) {
      const swept: StoredRecord[] = []
      for (const record of records.overdue(now, boundedLimit(limit, limits.batch))) {
        const next = transitions.sweep(record, now)
        if (write(record, next)) swept.push(next)
      }
      return swept
    },
    abandon({ operations, limit }) {
      const left: StoredRecord[] = []
      for (const record of records.unfinished(operations, now, boundedLimit(limit, limits.batch))) {
        const next = transitions.abandon(record, operations, now)
        if (write(record, next)) left.push(next)
      }
      return left
    },
    interrupted: ({ operations, limit }) => records.interrupted(operations, now, boundedLimit(limit, limits.batch)),
    doubts({ operations, limit, holdMs }) {
      const taken: StoredRecord[] = []
      for (const record of records.doubts(operations, now, boundedLimit(limit, limits.batch))) {
        const next = transitions.takeDoubt(record, holdMs, now)
        if (write(record, next)) taken.push(next)
      }
      return taken
    },
    postpone(name, plan) {
      const current = records.find(name)
      return write(current, transitions.postpone(current, plan, now))
    },
    reap(limit) {
      const most = boundedLimit(limit, limits.batch)
      let deleted = 0
      for (const record of records.forgotten(now, most)) {
        if (transitions.reap(record, now, 'final') !== 'deleted') continue
        records.remove(record)
        calls.removeTestimonies([...calls.removeOf(record.id), ...effects.removeOf(record.id)])
        deleted++
      }
      let buried = 0
      for (const record of records.expired(now, most)) {
        const next = transitions.reap(record, now, 'final')
        if (next !== 'deleted' && write(record, next)) buried++
      }
      return { buried, deleted }
    },

    find: (name) => records.find(name),
    list: (query) => records.list({ ...query, limit: boundedLimit(query.limit, limits.page) }),
    tenants: (query) => records.tenants({ ...query, limit: boundedLimit(query.limit, limits.page) }),
    usage: (tenant, atMost) => records.usage(tenant, now, boundedLimit(atMost, limits.countedKeys)),
    reapable: (atMost) => records.reapable(now, boundedLimit(atMost, telemetryBounds.countedRows)),
    measure: (atMost) => measurement.take(now, boundedLimit(atMost, telemetryBounds.countedRows)),
  }
}
