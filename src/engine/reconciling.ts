import { backoffMs } from '../kernel/backoff.js'
import { passing } from '../kernel/crash-points.js'
import { backoffs, limits } from '../kernel/limits.js'
import type { KeptTestimony } from './call-store.js'
import type { Context } from './context.js'
import { digestHex } from './digest.js'
import { type Looked, Lookup } from './looking.js'
import type { Progress } from './progress.js'
import type { StoredRecord } from './record.js'
import { look } from './resuming.js'
import { believableAt, settleCall } from './settling.js'

/** What came of a look at a doubt. */
export type Reconciled = 'settled' | 'put_off' | 'outage' | 'left_to_operator'

/**
 * Looks at one doubt. What somebody has said about its call counts first, whenever that came; then the provider is asked.
 * "Not landed" is put off until a holder that was only slow cannot have sent the call any more. `now` is the store's time.
 */
export async function reconcile<Tx>(context: Context<Tx>, record: StoredRecord, now: number): Promise<Reconciled> {
  const progress = progressOf(context, record)
  if (progress?.call === undefined) return leave(context, record, record.errorCode ?? 'unknown')
  const told = await byTestimony(context, record, progress, now)
  if (told !== undefined) return told
  const lookup = new Lookup<Tx>(record, progress, context.clock)
  await look(context, record, lookup)
  passing('reconciler.asked')
  const looked = lookup.looked
  const evidence = { by: 'reconciler', why: `the provider was asked about ${progress.call.key}` }
  return (await believe(context, record, progress, looked, now, evidence)) ?? inVain(context, record, looked)
}

/** Settles a doubt by what somebody has said about its call. `undefined` when that is nothing, or not enough. */
export async function reconcileTold<Tx>(context: Context<Tx>, record: StoredRecord): Promise<Reconciled | undefined> {
  const progress = progressOf(context, record)
  // Whoever comes with a testimony does not know the store's time; the earliest that it can be puts nothing forward.
  return progress && byTestimony(context, record, progress, record.doubtedAt ?? 0)
}

async function byTestimony<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  now: number,
): Promise<Reconciled | undefined> {
  const said = progress.call && (await testimonyOf(context, progress.call.key))
  return said && believe(context, record, progress, lookedIn(said, progress), now, { by: said.by, why: said.why })
}

/** Settles by what is certain. `undefined` when nothing is. */
async function believe<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  progress: Progress,
  looked: Looked,
  now: number,
  evidence: { readonly by: string; readonly why: string },
): Promise<Reconciled | undefined> {
  if (looked.kind !== 'landed' && looked.kind !== 'not_landed') return undefined
  const waitMs = looked.kind === 'landed' ? 0 : believableAt(record, progress) - now
  if (waitMs > 0) return putOff(context, record, record.looks, waitMs)
  await settleCall(context, record, progress, looked, evidence)
  passing('reconciler.settled')
  return 'settled'
}

/** The last word counts. One that landed without its result is only a hint, where the provider can be asked for it. */
async function testimonyOf<Tx>({ wholeStore }: Context<Tx>, key: string): Promise<KeptTestimony | undefined> {
  const said = await wholeStore.calls?.testimonies([key])
  return said?.findLast((testimony) => testimony.says === 'landed') ?? said?.at(-1)
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

async function inVain<Tx>(context: Context<Tx>, record: StoredRecord, looked: Looked): Promise<Reconciled> {
  const { events, chance } = context
  if (looked.kind === 'nobody') return leave(context, record, record.errorCode ?? 'unknown')
  const isOutage = looked.kind === 'outage'
  // An outage says nothing of this call, so that it does not bring it nearer to the operator.
  const looks = isOutage ? record.looks : record.looks + 1
  events.emit('looked_in_vain', () => ({
    ...subjectIn(record),
    looks,
    errorCode: ('errorCode' in looked ? looked.errorCode : undefined) ?? 'not_yet',
  }))
  if (looks >= limits.looks) return leave(context, record, 'looked_too_often')
  await putOff(context, record, looks, backoffMs(backoffs.looking, record.looks + 1, chance))
  return isOutage ? 'outage' : 'put_off'
}

async function leave<Tx>(
  { wholeStore, events }: Context<Tx>,
  record: StoredRecord,
  errorCode: string,
): Promise<Reconciled> {
  const { generation, looks } = record
  if (await wholeStore.postpone(record, { generation, looks, afterMs: undefined }))
    events.emit('left_to_operator', () => ({ ...subjectIn(record), errorCode }))
  return 'left_to_operator'
}

async function putOff<Tx>(
  { wholeStore }: Context<Tx>,
  record: StoredRecord,
  looks: number,
  afterMs: number,
): Promise<Reconciled> {
  await wholeStore.postpone(record, { generation: record.generation, looks, afterMs })
  return 'put_off'
}

function progressOf<Tx>({ progress }: Context<Tx>, record: StoredRecord): Progress | undefined {
  try {
    return progress.decode(record)
  } catch {
    return undefined // What cannot be read here is a person's to look at.
  }
}

export function subjectIn(record: StoredRecord) {
  return { scope: record.scope, record: digestHex(record), operation: record.operation }
}
