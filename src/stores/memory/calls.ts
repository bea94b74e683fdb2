import { afterOf, placeAfter } from '../../engine/call-place.js'
import type { CallMark, CallStore, StoredCall } from '../../engine/call-store.js'
import { copyOfTestimony } from '../../engine/copies.js'
import { boundedLimit } from '../../engine/limit.js'
import { type MarkedCall, marked } from '../../engine/marked-call.js'
import { reapTestimony, type SaidTestimony } from '../../engine/reaped-testimony.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import { limits } from '../../kernel/limits.js'

/** The calls of a memory store: marked with their record, and found by the key that they carried. */
export interface MemoryCalls extends CallStore {
  mark(record: StoredRecord, call: CallMark): void
  /** What hangs on a record that is deleted goes with it. */
  forget(recordId: number, testimonies: 'stay' | 'go'): void
}

export function memoryCalls(
  now: () => number,
  findRecord: (name: RecordName) => StoredRecord | undefined,
  /** A doubt about a call that somebody testifies about is due from then on. */
  makeDue: (name: RecordName) => void,
): MemoryCalls {
  const calls = new Map<string, MarkedCall>()
  let said: SaidTestimony[] = []
  let lastId = 0

  return {
    mark(record, mark) {
      const next = marked(calls.get(mark.key), record, mark, now(), () => ++lastId)
      if (next !== undefined) calls.set(mark.key, next)
    },
    async find(key) {
      const kept = calls.get(key)
      if (kept === undefined) return undefined
      const record = findRecord(kept.name)
      return { call: { ...kept.call }, record: record?.id === kept.recordId ? record : undefined }
    },
    forget(recordId, testimonies) {
      const gone = new Set([...calls.values()].filter((kept) => kept.recordId === recordId).map(({ call }) => call.key))
      for (const key of gone) calls.delete(key)
      if (testimonies === 'go') said = said.filter(({ downstreamKey }) => !gone.has(downstreamKey))
    },
    async list({ since, until, record, limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const found = [...calls.values()]
        .filter(({ recordId }) => record === undefined || recordId === record)
        .map(({ call }) => ({ ...call }))
        .filter(({ begunAt }) => begunAt >= (since ?? begunAt) && (until === undefined || begunAt < until))
        .sort(byBeginning)
        .filter((call) => after === undefined || byBeginning(call, placeAfter(after)) > 0)
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? afterOf(page) : undefined }
    },
    async named(keys) {
      return keys.flatMap((key) => calls.get(key)?.call ?? []).map((call) => ({ ...call }))
    },
    async reap(limit, keepMs) {
      const most = boundedLimit(limit, limits.batch)
      let [deleted, passed] = [0, 0]
      said = said.flatMap((one) => {
        const next = deleted + passed < most ? reapTestimony(one, (key) => calls.has(key), keepMs, now()) : undefined
        if (next === undefined) return [one]
        if (next === 'deleted') deleted++
        else passed++
        return next === 'deleted' ? [] : [next]
      })
      return { deleted, passed }
    },
    async testify(testimony) {
      said.push(copyOfTestimony({ ...testimony, at: now() }))
      const kept = calls.get(testimony.downstreamKey)
      if (kept !== undefined) makeDue(kept.name)
    },
    async testimonies(keys) {
      return said.filter(({ downstreamKey }) => keys.includes(downstreamKey)).map(copyOfTestimony)
    },
  }
}

function byBeginning(a: Pick<StoredCall, 'begunAt' | 'id'>, b: Pick<StoredCall, 'begunAt' | 'id'>): number {
  return a.begunAt - b.begunAt || a.id - b.id
}
