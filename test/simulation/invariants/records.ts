import type { StoredRecord } from '../../../src/engine/record.js'
import { operations, promised } from '../application.js'
import type { SimulatedDatabase } from '../database/database.js'
import { linesOf } from '../sent.js'
import { demand } from '../violation.js'
import { type Change, rowChanges } from './row-changes.js'

export interface RecordChange extends Change<StoredRecord> {
  /** The database's time by which it was judged: a row may be read, or written, long before it is committed. */
  readonly at: number
}

/** What has been committed of records since it was last asked. `now` is the database's time. */
export function recordChanges({ tables }: SimulatedDatabase, now: () => number): () => readonly RecordChange[] {
  const take = rowChanges(tables.records)
  return () =>
    take().map(({ before, after }) => ({
      before: before?.record,
      after: after?.record,
      at: after?.judgedAt ?? now(),
    }))
}

/** `tenant/key`. */
export function nameOf({ before, after }: RecordChange): string {
  return `${(before ?? after)?.scope}/${(before ?? after)?.key}`
}

/** An answer whose time is over has given way: it was buried, or its key was used anew, perhaps by what is answered at once. */
export function isOvertaken(change: RecordChange): change is RecordChange & { readonly before: StoredRecord } {
  const { before, after } = change
  if (before?.state !== 'completed' || after === undefined) return false
  return after.state !== 'completed' || after.generation > before.generation
}

/**
 * Every way from one state to another that the design allows, written down a second time: the table in the engine is what is
 * judged here. A request that is one transaction is seen only when it is completed.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  none: ['in_progress', 'completed'],
  in_progress: ['in_progress', 'completed', 'failed_retryable', 'unknown', 'none', 'expired'],
  failed_retryable: ['failed_retryable', 'in_progress', 'completed', 'unknown', 'expired'],
  unknown: ['unknown', 'completed', 'failed_retryable'],
  completed: ['completed', 'expired', 'in_progress'],
  expired: ['expired', 'in_progress', 'completed', 'none'],
}

/** What is known of a change beside it. */
interface Circumstances {
  /** The database's time by which it was judged. */
  readonly now: number
  /** From when on it has been kept. */
  readonly keptSince: () => number
  /** How many effects of the record are not final. */
  readonly openEffects: () => number
  /** Whether it was written under the claim of whoever held the record. */
  readonly isHolders: () => boolean
}

export function judgeChange(change: RecordChange, known: Circumstances): void {
  const { before, after, at } = change
  const [from, to] = [before?.state ?? 'none', after?.state ?? 'none']
  const name = nameOf(change)
  demand(allowed[from]?.includes(to) ?? false, () => `${name} went from ${from} to ${to}`)
  if (after?.state === 'in_progress') judgeLease(after, at, name)
  if (after?.state === 'completed' && from !== 'completed') judgeKept(after, at, name)
  if (before === undefined) return
  if (after === undefined) judgeDeletion(before, known, name)
  else if (after.generation === before.generation) judgeStep(before, after, known, name)
  else judgeReuse(before, after, known, name)
}

/** Whoever takes a key, renews its lease or writes down how far he is has it for as long as he was promised, from then on. */
function judgeLease({ leaseUntil = 0 }: StoredRecord, now: number, name: string): void {
  demand(leaseUntil >= now + promised.leaseMs, () => `${name} is leased for ${leaseUntil - now} ms only`)
}

/** So has whoever is answered his answer. */
function judgeKept({ expiresAt = Number.POSITIVE_INFINITY }: StoredRecord, now: number, name: string): void {
  demand(expiresAt >= now + promised.retentionMs, () => `the answer of ${name} is kept for ${expiresAt - now} ms only`)
}

/** A change within one generation. */
function judgeStep(before: StoredRecord, after: StoredRecord, known: Circumstances, name: string): void {
  const [from, to] = [before.state, after.state]
  demand(after.fence >= before.fence, () => `the fence of ${name} fell from ${before.fence} to ${after.fence}`)
  demand(after.evidence.length >= before.evidence.length, () => `evidence about ${name} is gone`)
  if (to === 'expired') {
    judgeBurial(before, known, name)
    return
  }
  if (from === 'completed') judgeAnswer(before, after, name)
  if (after.fence > before.fence) judgeTakeover(before, known.now, name)
  else if (from === 'failed_retryable' && to === 'in_progress')
    demand(false, () => `${name} was resumed under its old fence`)
  if (from === 'in_progress' && to === 'unknown') judgeDoubt(before, known, name)
  if (from === 'failed_retryable' && to === 'unknown') judgeAbandoning(before, known, name)
  if (from === 'in_progress' && to === 'completed')
    demand(!before.isBegun, () => `${name} was answered although a call of it is open`)
  if (from === 'unknown' && to !== 'unknown')
    demand(
      after.evidence.length > before.evidence.length || (to === 'completed' && known.isHolders()),
      () => `the doubt about ${name} ended without evidence`,
    )
}

/** Only whoever holds a claim says that nobody knows what came of it; others do when its lease is over. */
function judgeDoubt(before: StoredRecord, known: Circumstances, name: string): void {
  if (known.isHolders()) return
  const { leaseUntil = 0, onLeaseOver } = before
  demand(leaseUntil <= known.now, () => `${name} was put in doubt while its holder lives`)
  if (onLeaseOver === 'resume') judgeAbandoned(before, known, name)
}

/** What may run again is put in doubt only once its client has had all its time to come back, and only if something is left of it. */
function judgeAbandoning(before: StoredRecord, known: Circumstances, name: string): void {
  judgeAbandoned(before, known, name)
  const isHalfDone = before.recoveryPoint !== 'started' || before.isBegun
  demand(isHalfDone, () => `${name} was abandoned although nothing is left of it`)
}

function judgeAbandoned(before: StoredRecord, { now, keptSince }: Circumstances, name: string): void {
  demand(now >= keptSince() + promised.retentionMs, () => `${name} was abandoned before its time`)
  const { state, operation, reconcileAfter } = before
  // Every node here knows every operation.
  const isWorkers = operations.has(operation) && (state === 'in_progress' || reconcileAfter !== undefined)
  demand(!isWorkers, () => `${name} was abandoned although workers go on with it`)
}

/** A stored answer is what every retry gets: it never changes. */
function judgeAnswer(before: StoredRecord, after: StoredRecord, name: string): void {
  demand(after.state === 'completed', () => `${name} had an answer, and is ${after.state}`)
  demand(before.answer === after.answer || sameAnswer(before, after), () => `the answer of ${name} changed`)
}

function sameAnswer({ answer: one }: StoredRecord, { answer: other }: StoredRecord): boolean {
  if (one?.kind === 'kept' && other?.kind === 'kept')
    return one.status === other.status && Buffer.compare(one.body, other.body) === 0
  if (one?.kind !== 'withheld' || other?.kind !== 'withheld') return one === other
  return one.status === other.status && one.bytes === other.bytes && linesOf(one.headers) === linesOf(other.headers)
}

/** Nobody takes a claim away from a holder that lives, and nobody runs again what may not run again. */
function judgeTakeover(before: StoredRecord, now: number, name: string): void {
  const mayBeClaimed = before.state !== 'unknown' && before.state !== 'completed'
  demand(mayBeClaimed, () => `${name} was claimed although it was ${before.state}`)
  if (before.state !== 'in_progress') return
  demand((before.leaseUntil ?? 0) <= now, () => `${name} was taken from a holder that lives`)
  demand(before.onLeaseOver === 'resume', () => `${name} was taken over although its outcome was in doubt`)
}

function judgeReuse(before: StoredRecord, after: StoredRecord, known: Circumstances, name: string): void {
  demand(after.generation > before.generation, () => `${name} went back to generation ${after.generation}`)
  demand(after.fence > before.fence, () => `${name} was used anew under its old fence`)
  if (before.state !== 'expired') judgeBurial(before, known, name)
}

/** Only what is over may expire. */
function judgeBurial(before: StoredRecord, known: Circumstances, name: string): void {
  const { now, keptSince, openEffects, isHolders } = known
  if (before.state === 'in_progress') {
    // A key that its holder gives back is the tombstone that it was before.
    const isGivenBack = before.generation > 1 && before.recoveryPoint === 'started' && !before.isBegun && isHolders()
    demand(isGivenBack, () => `${name} expired while it was under way`)
    return
  }
  demand(now >= keptSince() + promised.retentionMs, () => `${name} expired before its time`)
  demand(openEffects() === 0, () => `${name} expired although it has effects to carry out`)
  const isOver = before.state === 'completed' || (before.recoveryPoint === 'started' && !before.isBegun)
  demand(isOver, () => `${name} expired half-done`)
}

function judgeDeletion(before: StoredRecord, { now, keptSince }: Circumstances, name: string): void {
  if (before.state === 'in_progress') {
    const isUntouched = before.recoveryPoint === 'started' && !before.isBegun && before.generation === 1
    demand(isUntouched, () => `${name} was given back although something had happened`)
    // With it its fingerprint and its fence would be gone.
    demand(before.attempt === 1, () => `${name} was given back although an earlier attempt had failed`)
    return
  }
  const until = keptSince() + promised.retentionMs + promised.tombstoneMs
  demand(before.state === 'expired' && until <= now, () => `${name} was deleted too early`)
}
