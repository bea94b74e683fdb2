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
    'calls.list'({ limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const found = calls.list(Number(after ?? 0), size + 1)
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? String(page.at(-1)?.id) : undefined }
    },
    'calls.testify': (testimony) => testified(now, tables, testimony),
    'calls.testimonies': (keys) => calls.testimonies(keys),
  }
}
