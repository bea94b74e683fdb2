import { afterOf, placeAfter } from '../../engine/call-place.js'
import type { CallMark, CallStore, KeptTestimony, StoredCall } from '../../engine/call-store.js'
import { boundedLimit } from '../../engine/limit.js'
import { limits } from '../../kernel/limits.js'
import type { Connection, Given } from './connection.js'
import { recordIf } from './record-fields.js'
import { fieldsOf, listOf, numberOf, type Reply, reader } from './reply.js'
import { findCall } from './scripts/find-call.js'
import { listCalls } from './scripts/list-calls.js'
import { namedCalls } from './scripts/named-calls.js'
import { reapTestimonies } from './scripts/reap-testimonies.js'
import { testify } from './scripts/testify.js'
import { testimonies } from './scripts/testimonies.js'

/** The calls of handlers: marked with their record, and found by the key that they carried. */
export function redisCalls(connection: Connection, root: string): CallStore {
  return {
    async find(key) {
      const [call, record] = listOf(await connection.run(findCall, [root], { callKey: key }))
      return fieldsOf(call).size === 0 ? undefined : { call: callOf(call), record: recordIf(record) }
    },
    async list({ since, until, record, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const place = after === undefined ? {} : { ...placeAfter(after) }
      const given = { ...place, since: timeIf(since), until: timeIf(until), record, limit: size + 1 }
      const found = listOf(await connection.run(listCalls, [root], given)).map(callOf)
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? afterOf(page) : undefined }
    },
    async named(keys) {
      return keys.length === 0 ? [] : listOf(await connection.run(namedCalls, [root], numbered(keys))).map(callOf)
    },
    async testify({ downstreamKey, says, by, why, result }) {
      await connection.run(testify, [root], { callKey: downstreamKey, says, by, why, result })
    },
    async testimonies(keys) {
      if (keys.length === 0) return []
      return listOf(await connection.run(testimonies, [root], numbered([...new Set(keys)]))).map(testimonyOf)
    },
    async reap(limit, keepMs) {
      const given = { limit: boundedLimit(limit, limits.batch), keepMs }
      const [deleted, passed] = listOf(await connection.run(reapTestimonies, [root], given))
      return { deleted: numberOf(deleted), passed: numberOf(passed) }
    },
  }
}

/** A list, as arguments that have names. */
function numbered(keys: readonly string[]): Given {
  return Object.fromEntries(keys.map((key, index) => [index + 1, key]))
}

/** Whoever asks for all of time names some that no clock shows. */
function timeIf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.min(Math.max(0, Math.ceil(ms)), Number.MAX_SAFE_INTEGER)
}

function callOf(reply: Reply | undefined): StoredCall {
  const { text, number } = reader(fieldsOf(reply))
  return {
    id: number('id'),
    key: text('key'),
    scope: text('scope'),
    operation: text('operation'),
    generation: number('generation'),
    phase: text('phase'),
    state: text('state') as CallMark['kind'],
    begunAt: number('begunAt'),
  }
}

function testimonyOf(reply: Reply): KeptTestimony {
  const { text, number, bytesIf } = reader(fieldsOf(reply))
  const result = bytesIf('result')
  return {
    downstreamKey: text('downstreamKey'),
    says: text('says') as KeptTestimony['says'],
    ...(result !== undefined && { result }),
    by: text('by'),
    why: text('why'),
    at: number('at'),
  }
}
