import { passing } from '../kernel/crash-points.js'
import { isHapaxError } from '../kernel/errors.js'
import type { KeptTestimony } from './call-store.js'
import type { Context } from './context.js'
import { digestHex } from './digest.js'
import type { Looked } from './looking.js'
import type { Progress } from './progress.js'
import type { Evidence, RecordName, StoredRecord } from './record.js'
import { believableAt, settleCall } from './settling.js'

/** What came of a look at a doubt. */
export type Reconciled = 'settled' | 'put_off' | 'outage' | 'left_to_operator'

/**
 * Settles a doubt by evidence that came before it, or that nobody has acted on. Whoever meets a doubt asks for this, since
 * only operations are looked at by a reconciler; nobody waits for it, and what fails here is tried by whoever comes next.
 */
export async function consult<Tx>(context: Context<Tx>, name: RecordName): Promise<void> {
  try {
    const record = await context.store.find(name)
    if (record?.state === 'unknown' && record.isBegun) await reconcileTold(context, record)
  } catch {
    // The store fails: the doubt stands.
  }
}

/** Settles a doubt by what somebody has said about its call. `undefined` when that is nothing, or not enough. */
export async function reconcileTold<Tx>(context: Context<Tx>, record: StoredRecord): Promise<Reconciled | undefined> {
  const progress = progressOf(context, record)
  return progress === undefined || progress === 'unreadable' ? undefined : byTestimony(context, record, progress)
}

/**
 * What is said before a call began is about another one that carried its key. "Not landed" counts if it is said late enough:
 * said earlier, it does not come true by waiting.
 */
export async function byTestimony<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
): Promise<Reconciled | undefined> {
  const { calls } = context.wholeStore
  const { call } = progress
  if (calls === undefined || call === undefined) return undefined
  const testimonies = await calls.testimonies([call.key])
  if (testimonies.length === 0) return undefined
  // By the store's own clock, as what was said is.
  const begunAt = (await calls.find(call.key))?.call.begunAt ?? Number.POSITIVE_INFINITY
  const said = testimonies.filter(({ at }) => at >= begunAt)
  const counts = ({ says, at }: KeptTestimony) => says === 'landed' || at >= believableAt(record, progress)
  const last = said.findLast(({ says }) => says === 'landed') ?? said.findLast(counts)
  return last && believe(context, record, progress, lookedIn(last, progress), { by: last.by, why: last.why })
}

/** Settles by what is certain. `undefined` when nothing is. */
export async function believe<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  looked: Looked,
  evidence: Evidence,
): Promise<Reconciled | undefined> {
  if (looked.kind !== 'landed' && looked.kind !== 'not_landed') return undefined
  try {
    await settleCall(context, record, progress, looked, evidence)
  } catch (error) {
    // A result that cannot be kept will not be smaller at the next look.
    if (isHapaxError(error) && !error.retryable) return leave(context, record, error.code)
    throw error
  }
  passing('reconciler.settled')
  return 'settled'
}

function lookedIn({ says, result }: KeptTestimony, { call }: Progress): Looked {
  if (says === 'not_landed') return { kind: 'not_landed' }
  if (result === undefined) return call?.canLookUp ? { kind: 'not_yet' } : { kind: 'landed', result: undefined }
  try {
    return { kind: 'landed', result: JSON.parse(Buffer.from(result).toString()) as unknown }
  } catch {
    return { kind: 'not_yet' } // It has landed, but what it gave cannot be read.
  }
}

/** Leaves a doubt to a person, who sees how often it was looked at, the last time included. */
export async function leave<Tx>(
  { wholeStore, events }: Context<Tx>,
  record: StoredRecord,
  errorCode: string,
  looks = record.looks,
): Promise<Reconciled> {
  const { generation, fence } = record
  if (await wholeStore.postpone(record, { generation, fence, looks, afterMs: undefined }))
    events.emit('left_to_operator', () => ({ ...subjectIn(record), errorCode }))
  return 'left_to_operator'
}

export function progressOf<Tx>({ progress }: Context<Tx>, record: StoredRecord): Progress | 'unreadable' | undefined {
  try {
    return progress.decode(record)
  } catch {
    return 'unreadable'
  }
}

export function subjectIn(record: StoredRecord) {
  return { scope: record.scope, record: digestHex(record), operation: record.operation }
}
