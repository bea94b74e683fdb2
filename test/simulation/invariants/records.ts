import type { StoredRecord } from '../../../src/engine/record.js'
import type { SimulatedDatabase } from '../database/database.js'
import { demand } from '../violation.js'
import { type Change, rowChanges } from './row-changes.js'

export type RecordChange = Change<StoredRecord>

/** What has been committed of records since it was last asked. */
export function recordChanges({ tables }: SimulatedDatabase): () => readonly RecordChange[] {
  const take = rowChanges(tables.records)
  return () => take().map(({ before, after }) => ({ before: before?.record, after: after?.record }))
}

/** An answer whose time is over has given way: it was buried, or its key was used anew. */
export function isOvertaken(change: RecordChange): change is RecordChange & { readonly before: StoredRecord } {
  const { before, after } = change
  return before?.state === 'completed' && after !== undefined && after.state !== 'completed'
}

/**
 * Every way from one state to another that the design allows, written down a second time: the table in the engine is what is
 * judged here. A request that is one transaction is seen only when it is completed.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  none: ['in_progress', 'completed'],
  in_progress: ['in_progress', 'completed', 'failed_retryable', 'unknown', 'none', 'expired'],
  failed_retryable: ['failed_retryable', 'in_progress', 'completed', 'expired'],
  unknown: ['unknown', 'completed', 'failed_retryable'],
  completed: ['completed', 'expired', 'in_progress'],
  expired: ['expired', 'in_progress', 'completed', 'none'],
}

/** Judges a change at the database's time. `openEffects` counts those of the record that are not final. */
export function judgeChange({ before, after }: RecordChange, now: number, openEffects: () => number): void {
  const [from, to] = [before?.state ?? 'none', after?.state ?? 'none']
  const name = `${(before ?? after)?.scope}/${(before ?? after)?.key}`
  demand(allowed[from]?.includes(to) ?? false, () => `${name} went from ${from} to ${to}`)
  if (before === undefined) return
  if (after === undefined) judgeEnd(before, now, name)
  else if (after.generation === before.generation) judgeStep(before, after, now, openEffects, name)
  else judgeReuse(before, after, now, openEffects, name)
}

/** A change within one generation. */
function judgeStep(
  before: StoredRecord,
  after: StoredRecord,
  now: number,
  openEffects: () => number,
  name: string,
): void {
  const [from, to] = [before.state, after.state]
  demand(after.fence >= before.fence, () => `the fence of ${name} fell from ${before.fence} to ${after.fence}`)
  demand(after.evidence.length >= before.evidence.length, () => `evidence about ${name} is gone`)
  if (to === 'expired') {
    judgeBurial(before, now, openEffects, name)
    return
  }
  if (from === 'completed') judgeAnswer(before, after, name)
  if (after.fence > before.fence) judgeTakeover(before, now, name)
  else if (from === 'failed_retryable' && to === 'in_progress')
    demand(false, () => `${name} was resumed under its old fence`)
  if (from === 'in_progress' && to === 'completed')
    demand(!before.isBegun, () => `${name} was answered although a call of it is open`)
  if (from === 'unknown' && to === 'failed_retryable')
    demand(after.evidence.length > before.evidence.length, () => `the doubt about ${name} ended without evidence`)
}

/** A stored answer is what every retry gets: it never changes. */
function judgeAnswer(before: StoredRecord, after: StoredRecord, name: string): void {
  demand(after.state === 'completed', () => `${name} had an answer, and is ${after.state}`)
  demand(before.answer === after.answer || sameAnswer(before, after), () => `the answer of ${name} changed`)
}

function sameAnswer({ answer: one }: StoredRecord, { answer: other }: StoredRecord): boolean {
  if (one?.kind !== 'kept' || other?.kind !== 'kept') return one?.kind === other?.kind
  return one.status === other.status && Buffer.compare(one.body, other.body) === 0
}

/** Nobody takes a claim away from a holder that lives, and nobody runs again what may not run again. */
function judgeTakeover(before: StoredRecord, now: number, name: string): void {
  demand(before.state !== 'unknown', () => `${name} was claimed while nobody knew its outcome`)
  demand(before.state !== 'completed', () => `${name} was claimed although it had an answer`)
  if (before.state !== 'in_progress') return
  demand((before.leaseUntil ?? 0) <= now, () => `${name} was taken from a holder that lives`)
  demand(before.onLeaseOver === 'resume', () => `${name} was taken over although its outcome was in doubt`)
}

function judgeReuse(
  before: StoredRecord,
  after: StoredRecord,
  now: number,
  openEffects: () => number,
  name: string,
): void {
  demand(after.generation > before.generation, () => `${name} went back to generation ${after.generation}`)
  demand(after.fence > before.fence, () => `${name} was used anew under its old fence`)
  if (before.state !== 'expired') judgeBurial(before, now, openEffects, name)
}

/** Only what is over may expire. */
function judgeBurial(before: StoredRecord, now: number, openEffects: () => number, name: string): void {
  // A key that was given back is the tombstone that it was before.
  if (before.state === 'in_progress') return
  demand(before.expiresAt !== undefined && before.expiresAt <= now, () => `${name} expired before its time`)
  demand(openEffects() === 0, () => `${name} expired although it has effects to carry out`)
  const isOver = before.state === 'completed' || (before.recoveryPoint === 'started' && !before.isBegun)
  demand(isOver, () => `${name} expired half-done`)
}

function judgeEnd(before: StoredRecord, now: number, name: string): void {
  if (before.state === 'in_progress') {
    const isUntouched = before.recoveryPoint === 'started' && !before.isBegun && before.generation === 1
    demand(isUntouched, () => `${name} was given back although something had happened`)
    return
  }
  const until = (before.expiresAt ?? Number.POSITIVE_INFINITY) + before.tombstoneMs
  demand(before.state === 'expired' && until <= now, () => `${name} was deleted too early`)
}
