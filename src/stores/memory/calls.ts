import type { CallMark, CallStore, KeptTestimony, StoredCall } from '../../engine/call-store.js'
import { boundedLimit } from '../../engine/limit.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import { limits } from '../../kernel/limits.js'

/** The calls of a memory store: marked with their record, and found by the key that they carried. */
export interface MemoryCalls extends CallStore {
  mark(record: StoredRecord, call: CallMark): void
}

interface Kept {
  readonly call: StoredCall
  readonly name: RecordName
  readonly recordId: number
}

export function memoryCalls(
  now: () => number,
  findRecord: (name: RecordName) => StoredRecord | undefined,
  /** A doubt about a call that somebody testifies about is due from then on. */
  makeDue: (name: RecordName) => void,
): MemoryCalls {
  const calls = new Map<string, Kept>()
  const said: KeptTestimony[] = []
  let lastId = 0

  const begin = (key: string, phase: string, { id, scope, key: of, operation, generation }: StoredRecord) => {
    const call = { id: ++lastId, key, scope, operation, generation, phase, state: 'begun', begunAt: now() } as const
    calls.set(key, { call, name: { scope, key: of }, recordId: id })
  }

  return {
    mark(record, mark) {
      const kept = calls.get(mark.key)
      if (mark.kind === 'begun' && kept?.recordId !== record.id) begin(mark.key, mark.phase, record)
      else if (kept !== undefined) calls.set(mark.key, { ...kept, call: { ...kept.call, state: mark.kind } })
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
      said.push(copyOf({ ...testimony, at: now() }))
      const kept = calls.get(testimony.downstreamKey)
      if (kept !== undefined) makeDue(kept.name)
    },
    async testimonies(keys) {
      return said.filter(({ downstreamKey }) => keys.includes(downstreamKey)).map(copyOf)
    },
  }
}

function copyOf(testimony: KeptTestimony): KeptTestimony {
  const { result } = testimony
  return result === undefined ? { ...testimony } : { ...testimony, result: Buffer.from(result) }
}
