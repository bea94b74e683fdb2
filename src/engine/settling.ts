import type { Context } from './context.js'
import { subjectIn } from './leaving.js'
import type { Progress } from './progress.js'
import type { Evidence, StoredRecord } from './record.js'
import type { Settlement } from './store.js'

/** What evidence says of the open call of a record. */
export type Said = { readonly kind: 'landed'; readonly result: unknown } | { readonly kind: 'not_landed' }

/**
 * Ends a doubt about a call by evidence. Landed: the recovery point moves behind the call, with its result. Not landed: the
 * call was never begun. Either way the operation may go on, at once. `false` when the record is not in doubt any more.
 */
export async function settleCall<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  said: Said,
  evidence: Evidence,
): Promise<boolean> {
  const settlement = callSettlement(context, record, progress, said, evidence)
  if (settlement === undefined) return false
  const isSettled = await context.wholeStore.settle(record, settlement)
  const { by } = evidence
  if (isSettled) context.events.emit('settled', () => ({ ...subjectIn(record), says: said.kind, by }))
  return isSettled
}

/** What evidence about the open call of a record makes of it; `undefined` when none is open. */
export function callSettlement<Tx>(
  { progress: codec }: Pick<Context<Tx>, 'progress'>,
  record: StoredRecord,
  progress: Progress,
  said: Said,
  evidence: Evidence,
): Settlement | undefined {
  const { call, ...without } = progress
  if (call === undefined) return undefined
  const { name, key } = call
  const phases = said.kind === 'landed' ? [...without.phases, { name, result: said.result }] : without.phases
  const bytes = codec.encode({ ...without, phases }, record)
  return {
    generation: record.generation,
    fence: record.fence,
    evidence,
    call: { kind: said.kind, key },
    outcome:
      said.kind === 'landed'
        ? { kind: 'landed', recoveryPoint: name, progress: bytes }
        : { kind: 'not_landed', progress: bytes },
  }
}

/**
 * When "not landed" may be believed: a holder that was only slow may have sent the call until its lease ended, it took its
 * time, and the provider shows what it did only after a while. The store's clock says so, and the clock of the process that
 * believes it has to agree: one of them may have been set forward since the doubt.
 */
export function believableAt({ doubtedAt = 0 }: StoredRecord, { call }: Progress): number {
  return call === undefined ? doubtedAt : doubtedAt + call.timeoutMs + call.readLagMs
}
