import { afterOf, placeAfter } from '../../../engine/call-place.js'
import { boundedLimit } from '../../../engine/limit.js'
import { limits } from '../../../kernel/limits.js'
import type { CallSteps } from '../protocol.js'
import type { Tables } from '../tables.js'
import { testified } from './testified.js'

/** Every step on calls, inside one transaction and at one instant. */
export function callStepsAt(now: number, tables: Tables): CallSteps {
  const { records, calls } = tables
  return {
    'calls.find'(key) {
      const found = calls.find(key)
      return found && { call: found.call, record: records.findById(found.recordId) }
    },
    'calls.list'({ since = 0, until = Number.MAX_SAFE_INTEGER, record, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const from = after === undefined ? { begunAt: since, id: 0 } : placeAfter(after)
      const found = calls.list(from, until, size + 1, record)
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? afterOf(page) : undefined }
    },
    'calls.named': (keys) => calls.named(keys),
    'calls.reap': (limit, keepMs) => calls.removeUnknown(now - keepMs, boundedLimit(limit, limits.batch)),
    'calls.testify': (testimony) => testified(now, tables, testimony),
    'calls.testimonies': (keys) => calls.testimonies(keys),
  }
}
