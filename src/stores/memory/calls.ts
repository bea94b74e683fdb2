import type { CallMark, CallStore, KeptTestimony } from '../../engine/call-store.js'
import { copyOfTestimony } from '../../engine/copies.js'
import { boundedLimit } from '../../engine/limit.js'
import { type MarkedCall, marked } from '../../engine/marked-call.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import { limits } from '../../kernel/limits.js'

/** The calls of a memory store: marked with their record, and found by the key that they carried. */
export interface MemoryCalls extends CallStore {
  mark(record: StoredRecord, call: CallMark): void
}

export function memoryCalls(
  now: () => number,
  findRecord: (name: RecordName) => StoredRecord | undefined,
  /** A doubt about a call that somebody testifies about is due from then on. */
  makeDue: (name: RecordName) => void,
): MemoryCalls {
  const calls = new Map<string, MarkedCall>()
  const said: KeptTestimony[] = []
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
    async list({ limit, after }) {
      const size = boundedLimit(limit, limits.page)
      const found = [...calls.values()].map(({ call }) => ({ ...call })).filter(({ id }) => id > Number(after ?? 0))
      const page = found.slice(0, size)
      return { calls: page, next: found.length > size ? String(page.at(-1)?.id) : undefined }
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
