import type { Context } from './context.js'
import { digestHex } from './digest.js'
import type { Progress } from './progress.js'
import type { Evidence, StoredRecord } from './record.js'

/** What evidence says of the open call of a record. */
export type Said = { readonly kind: 'landed'; readonly result: unknown } | { readonly kind: 'not_landed' }

/**
 * Ends a doubt about a call by evidence. Landed: the recovery point moves behind the call, with its result. Not landed: the
 * call was never begun. Either way the operation may go on, at once. `false` when the record is not in doubt any more.
 */
export async function settleCall<Tx>(
  { wholeStore, progress: codec, events }: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  said: Said,
  evidence: Evidence,
): Promise<boolean> {
  const { call, ...without } = progress
  if (call === undefined) return false
  const { name, key } = call
  const phases = said.kind === 'landed' ? [...without.phases, { name, result: said.result }] : without.phases
  const bytes = codec.encode({ ...without, phases }, record)
  const isSettled = await wholeStore.settle(record, {
    generation: record.generation,
    fence: record.fence,
    evidence,
    call: { kind: said.kind, key },
    outcome:
      said.kind === 'landed'
        ? { kind: 'landed', recoveryPoint: name, progress: bytes }
        : { kind: 'not_landed', progress: bytes },
  })
  const { scope, operation } = record
  if (isSettled)
    events.emit('settled', () => ({ scope, record: digestHex(record), operation, says: said.kind, by: evidence.by }))
  return isSettled
}

/**
 * When "not landed" may be believed, on the store's clock: a holder that was only slow may have sent the call until its
 * lease ended, it took its time, and the provider shows what it did only after a while.
 */
export function believableAt({ doubtedAt = 0 }: StoredRecord, { call }: Progress): number {
  return call === undefined ? doubtedAt : doubtedAt + call.timeoutMs + call.readLagMs
}
