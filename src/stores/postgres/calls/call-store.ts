import { afterOf, placeAfter } from '../../../engine/call-place.js'
import type { CallStore, KeptTestimony, StoredCall } from '../../../engine/call-store.js'
import { boundedLimit } from '../../../engine/limit.js'
import { limits } from '../../../kernel/limits.js'
import { recordOf } from '../../sql/row.js'
import { arrayOf } from '../array.js'
import { bytesOf, recordRowOf } from '../columns.js'
import type { Row } from '../connections.js'
import { type Execute, everyScope } from '../executor.js'
import type { CallQueries } from './call-queries.js'
import { ofTestimonies, type TestimonyQueries } from './testimony-queries.js'

/** Whoever asks about a call knows its key and nothing of its scope, so that every statement is about all of them. */
export function postgresCalls(queries: CallQueries & TestimonyQueries, execute: Execute): CallStore {
  return {
    async find(key) {
      const [row] = await execute(everyScope, queries.find, [key])
      return row && { call: callOf(row), record: row.id === null ? undefined : recordOf(recordRowOf(row)) }
    },
    async list({ since = 0, until, record, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const from = after === undefined ? { begunAt: since, id: 0 } : placeAfter(after)
      const asked = [from.begunAt, from.id, until ?? null, size + 1]
      const rows =
        record === undefined
          ? await execute(everyScope, queries.list, asked)
          : await execute(everyScope, queries.listOf, [...asked, record])
      const found = rows.map(callOf)
      const calls = found.slice(0, size)
      return { calls, next: found.length > size ? afterOf(calls) : undefined }
    },
    async named(keys) {
      return (await execute(everyScope, queries.named, [arrayOf(keys)])).map(callOf)
    },
    async reap(limit, keepMs) {
      const looked = await execute(everyScope, queries.reapTestimonies, [boundedLimit(limit, limits.batch), keepMs])
      const passed = looked.filter(({ is_known }) => is_known === 't').length
      return { deleted: looked.length - passed, passed }
    },
    async testify(testimony) {
      await execute(everyScope, queries.testify, ofTestimonies([testimony]))
    },
    async testimonies(keys) {
      return (await execute(everyScope, queries.testimonies, [arrayOf(keys)])).map(testimonyOf)
    },
  }
}

function callOf(row: Row): StoredCall {
  return {
    id: Number(row.call_id),
    key: row.call_key ?? '',
    scope: row.call_scope ?? '',
    operation: row.call_operation ?? '',
    generation: Number(row.call_generation),
    phase: row.call_phase ?? '',
    state: row.call_state as StoredCall['state'],
    begunAt: Number(row.call_begun_at),
  }
}

function testimonyOf(row: Row): KeptTestimony {
  return {
    downstreamKey: row.downstream_key ?? '',
    says: row.says as KeptTestimony['says'],
    ...(row.result && { result: bytesOf(row.result) }),
    by: row.said_by ?? '',
    why: row.why ?? '',
    at: Number(row.said_at),
  }
}
