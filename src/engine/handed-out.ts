import { defaults } from '../kernel/limits.js'
import type { Context } from './context.js'
import { derivedKey } from './downstream-key.js'
import { leave, type Reconciled, subjectIn } from './leaving.js'
import type { HandedOut } from './progress.js'
import type { Evidence, StoredRecord } from './record.js'
import { saidSince } from './said.js'
import { leaseOver } from './transitions.js'

/**
 * Settles a doubt of a handler that makes its calls by itself, by what was said about the keys that it was given. Where none
 * of them landed, it may run again. Where one has, only a person can say what the answer is: the rest of the handler may
 * have happened, or not, and nothing of it is on record.
 */
export async function byHandedOut<Tx>(
  context: Context<Tx>,
  record: StoredRecord,
  handedOut: HandedOut,
): Promise<Reconciled | undefined> {
  const keys = handedOut.names.map((name) => derivedKey('call', record, name))
  const said = await Promise.all(keys.map((key) => saidSince(context, key)))
  if (said.flat().some(({ says }) => says === 'landed')) return leave(context, record, answerMissing)
  const from = believableFrom(record, handedOut)
  const counts = (at: number) => Math.min(at, context.clock.now()) >= from
  const nots = said.map((about) => about.findLast(({ says, at }) => says === 'not_landed' && counts(at)))
  const last = nots.at(-1)
  if (last === undefined || nots.includes(undefined)) return undefined
  return settled(context, record, { by: last.by, why: last.why })
}

/** The word for an operator: something has landed, and what the request is to be answered with is not known. */
const answerMissing = 'answer_missing'

/** A handler that was only slow may send until its time is over. One that has ended has nothing but a call on its way. */
export function believableFrom({ errorCode, doubtedAt = 0 }: StoredRecord, { runMs }: HandedOut): number {
  return doubtedAt + (errorCode === leaseOver ? runMs : defaults.callTimeoutMs)
}

async function settled<Tx>(context: Context<Tx>, record: StoredRecord, evidence: Evidence): Promise<Reconciled> {
  const { generation, fence } = record
  const outcome = { kind: 'not_landed' } as const
  const isSettled = await context.wholeStore.settle(record, { generation, fence, evidence, outcome })
  const { by } = evidence
  if (isSettled) context.events.emit('settled', () => ({ ...subjectIn(record), says: 'not_landed', by }))
  return 'settled'
}
