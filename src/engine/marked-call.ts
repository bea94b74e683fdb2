import type { CallMark, StoredCall } from './call-store.js'
import type { RecordName, StoredRecord } from './record.js'

/** A call as it is kept, with the record that made it. */
export interface MarkedCall {
  readonly call: StoredCall
  readonly name: RecordName
  readonly recordId: number
}

/**
 * What a mark makes of a call. One that begins anew is the same call, in its place; if another record sends the key, it has
 * begun only now. How a call ended that nobody knows is no news. `newId` is asked only when the call is new.
 */
export function marked(
  current: MarkedCall | undefined,
  { id: recordId, scope, key, operation, generation }: StoredRecord,
  mark: CallMark,
  now: number,
  newId: () => number,
): MarkedCall | undefined {
  if (mark.kind !== 'begun') return current && { ...current, call: { ...current.call, state: mark.kind } }
  const name = { scope, key }
  const state = 'begun'
  if (current === undefined) {
    const { key: carried, phase } = mark
    const call: StoredCall = { id: newId(), key: carried, scope, operation, phase, begunAt: now, generation, state }
    return { call, name, recordId }
  }
  const begunAt = current.recordId === recordId ? current.call.begunAt : now
  return { call: { ...current.call, begunAt, generation, state }, name, recordId }
}
