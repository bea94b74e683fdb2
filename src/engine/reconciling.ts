import { backoffMs } from '../kernel/backoff.js'
import { passing } from '../kernel/crash-points.js'
import { backoffs, limits } from '../kernel/limits.js'
import { believe, byTestimony, progressOf, resultMissing } from './believing.js'
import type { Context } from './context.js'
import { leave, type Reconciled, subjectIn } from './leaving.js'
import { type Looked, Lookup } from './looking.js'
import type { StoredRecord } from './record.js'
import { look } from './resuming.js'
import { believableAt } from './settling.js'

/**
 * Looks at one doubt. What somebody has said about its call counts first, whenever that came; then the provider is asked.
 * "Not landed" is put off until a holder that was only slow cannot have sent the call any more. `now` is the store's time.
 */
export async function reconcile<Tx>(context: Context<Tx>, record: StoredRecord, now: number): Promise<Reconciled> {
  const progress = progressOf(context, record)
  // Another node may have the key that this one lacks.
  if (progress === 'unreadable')
    return inVain(context, record, { kind: 'outage', errorCode: 'progress_unreadable' }, now)
  const told = progress && (await byTestimony(context, record, progress))
  if (told !== undefined && told !== 'ask') return told
  if (progress?.call === undefined) return leave(context, record, record.errorCode ?? 'unknown')
  const lookup = new Lookup<Tx>(record, progress, context.clock)
  await look(context, record, lookup)
  passing('reconciler.asked')
  const looked = told === 'ask' ? askedForResult(lookup.looked) : lookup.looked
  const waitMs = looked.kind === 'not_landed' ? believableAt(record, progress) - Math.min(now, context.clock.now()) : 0
  if (waitMs > 0) return putOff(context, record, record.looks, waitMs)
  const evidence = { by: 'reconciler', why: `the provider was asked about ${progress.call.key}` }
  return (await believe(context, record, progress, looked, evidence)) ?? inVain(context, record, looked, now)
}

/** Somebody has said that it landed: a provider that does not know of it cannot say that it did not. */
function askedForResult(looked: Looked): Looked {
  if (looked.kind === 'not_landed') return { kind: 'not_yet', errorCode: 'evidence_contradicted' }
  return looked.kind === 'nobody' ? { kind: 'nobody', errorCode: resultMissing } : looked
}

async function inVain<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  looked: Looked,
  now: number,
): Promise<Reconciled> {
  const { events, chance } = context
  if (looked.kind === 'nobody') return leave(context, record, looked.errorCode ?? record.errorCode ?? 'unknown')
  const isOutage = looked.kind === 'outage'
  // An outage says nothing of this call, so that it does not bring it nearer to the operator.
  const looks = isOutage ? record.looks : record.looks + 1
  events.emit('looked_in_vain', () => ({
    ...subjectIn(record),
    looks,
    errorCode: ('errorCode' in looked ? looked.errorCode : undefined) ?? 'not_yet',
  }))
  // An outage that does not end is none: something about this one cannot be asked.
  const isOld = now - (record.doubtedAt ?? now) > limits.doubtMs
  if (looks >= limits.looks || isOld) return leave(context, record, 'looked_too_often', looks)
  await putOff(context, record, looks, backoffMs(backoffs.looking, record.looks + 1, chance))
  return isOutage ? 'outage' : 'put_off'
}

async function putOff<Tx>(
  { wholeStore }: Context<Tx>,
  record: StoredRecord,
  looks: number,
  afterMs: number,
): Promise<Reconciled> {
  const { generation, fence, reconcileAfter: dueAt } = record
  await wholeStore.postpone(record, { generation, fence, state: 'unknown', dueAt, looks, afterMs })
  return 'put_off'
}
