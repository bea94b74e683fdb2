import type { CallPlace } from '../../../engine/call-place.js'
import type { CallMark, KeptTestimony, ReapedTestimonies, StoredCall } from '../../../engine/call-store.js'
import type { Testimony } from '../../../engine/inbox-store.js'
import type { StoredRecord } from '../../../engine/record.js'
import type { Connection } from '../connection.js'
import { callQueries as queries } from './call-queries.js'

/** The calls of handlers, and what was said about them. */
export interface CallTable {
  /** What became of a call, with the record that made it. */
  mark(record: StoredRecord, call: CallMark, now: number): void
  find(key: string): { readonly call: StoredCall; readonly recordId: number } | undefined
  /** Those that began after that place, and before `until`. */
  /** Of all records, or of one. */
  list(after: CallPlace, until: number, limit: number, record: number | undefined): readonly StoredCall[]
  named(keys: readonly string[]): readonly StoredCall[]
  /** Removes the calls of a record, and gives the keys that they carried. */
  removeOf(recordId: number): readonly string[]
  testify(testimony: Testimony, now: number): void
  testimonies(keys: readonly string[]): readonly KeptTestimony[]
  removeTestimonies(keys: readonly string[]): void
  /** Deletes testimonies from before `until` about what is not here; the others are passed, once and for all. */
  removeUnknown(until: number, limit: number): ReapedTestimonies
}

export function callTable(connection: Connection): CallTable {
  const begin = connection.prepare(queries.begin)
  const end = connection.prepare(queries.end)
  const find = connection.prepare<CallRow>(queries.find)
  const list = connection.prepare<CallRow>(queries.list)
  const listOf = connection.prepare<CallRow>(queries.listOf)
  const named = connection.prepare<CallRow>(queries.named)
  const removeOf = connection.prepare<Pick<CallRow, 'downstream_key'>>(queries.removeOf)
  const removeTestimonies = connection.prepare(queries.removeTestimonies)
  const old = connection.prepare<{ id: number; known: number }>(queries.oldTestimonies)
  const pass = connection.prepare(queries.passTestimony)
  const remove = connection.prepare(queries.removeTestimony)
  const testify = connection.prepare(queries.testify)
  const testimonies = connection.prepare<TestimonyRow>(queries.testimonies)

  return {
    mark({ id, scope, operation, generation }, call, now) {
      if (call.kind === 'begun') begin.run([call.key, call.phase, id, scope, operation, generation, now])
      else end.run([call.kind, now, call.key])
    },
    find(key) {
      const row = find.get([key])
      return row && { call: callOf(row), recordId: row.record_id }
    },
    list: ({ begunAt, id }, until, limit, record) =>
      (record === undefined
        ? list.all([begunAt, id, until, limit])
        : listOf.all([begunAt, id, until, limit, record])
      ).map(callOf),
    named: (keys) => named.all([JSON.stringify(keys)]).map(callOf),
    removeOf: (recordId) => removeOf.all([recordId]).map(({ downstream_key }) => downstream_key),
    testify: ({ downstreamKey, says, result, by, why }, now) =>
      testify.run([downstreamKey, says, result, by, why, now]),
    testimonies: (keys) => testimonies.all([JSON.stringify(keys)]).map(testimonyOf),
    removeTestimonies: (keys) => removeTestimonies.run([JSON.stringify(keys)]),
    removeUnknown(until, limit) {
      const looked = old.all([until, limit])
      for (const { id, known } of looked) (known === 1 ? pass : remove).run([id])
      const passed = looked.filter(({ known }) => known === 1).length
      return { deleted: looked.length - passed, passed }
    },
  }
}

interface CallRow {
  readonly id: number
  readonly downstream_key: string
  readonly record_id: number
  readonly scope_id: string
  readonly operation: string
  readonly generation: number
  readonly phase: string
  readonly state: CallMark['kind']
  readonly begun_at: number
}

interface TestimonyRow {
  readonly downstream_key: string
  readonly says: Testimony['says']
  readonly result: Uint8Array | null
  readonly said_by: string
  readonly why: string
  readonly said_at: number
}

function callOf({ id, operation, generation, phase, state, ...row }: CallRow): StoredCall {
  const { downstream_key: key, scope_id: scope, begun_at: begunAt } = row
  return { id, key, scope, operation, generation, phase, state, begunAt }
}

function testimonyOf({ downstream_key, says, result, said_by, why, said_at }: TestimonyRow): KeptTestimony {
  return { downstreamKey: downstream_key, says, ...(result !== null && { result }), by: said_by, why, at: said_at }
}
