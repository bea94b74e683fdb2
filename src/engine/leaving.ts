import type { Subject } from '../kernel/events.js'
import type { Context } from './context.js'
import { digestHex } from './digest.js'
import type { Claim, StoredRecord } from './record.js'

/** What came of a look at a doubt. */
export type Reconciled = 'settled' | 'put_off' | 'outage' | 'left_to_operator'

/**
 * Leaves a doubt to a person, who finds with the record why, and how often it was looked at, the last time included. One that
 * is left already stays as it is.
 */
export async function leave<Tx>(
  { wholeStore, events }: Context<Tx>,
  record: StoredRecord,
  errorCode: string,
  looks = record.looks,
): Promise<Reconciled> {
  const { generation, fence, reconcileAfter: dueAt } = record
  const seen = { generation, fence, state: 'unknown', dueAt } as const
  const isLeft = dueAt === undefined
  if (!isLeft && (await wholeStore.postpone(record, { ...seen, looks, afterMs: undefined, errorCode })))
    events.emit('left_to_operator', () => ({ ...subjectIn(record), errorCode }))
  return 'left_to_operator'
}

/**
 * Leaves an operation to its client, or to a person, when it has gone on by itself too often. The record says so in the place
 * of what went wrong, which every attempt has told: a person finds by it what nobody else looks at. `false`: the claim is stale.
 */
export async function giveUp<Tx>({ store, events }: Context<Tx>, claim: Claim, subject: Subject): Promise<boolean> {
  const errorCode = 'resumed_too_often'
  const isLeft = await store.fail(claim, { errorCode })
  if (isLeft) events.emit('left_to_operator', () => ({ ...subject, errorCode }))
  return isLeft
}

export function subjectIn(record: StoredRecord) {
  return { scope: record.scope, record: digestHex(record), operation: record.operation }
}
