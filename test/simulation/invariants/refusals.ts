import type { StoredRecord } from '../../../src/engine/record.js'
import type { Sent } from '../sent.js'
import { demand, violated } from '../violation.js'
import type { Task } from '../world/task.js'
import type { RecordChange } from './records.js'

/** Whoever was refused with one of these has not changed anything, and will not. */
const harmless: ReadonlySet<string> = new Set([
  'idempotency_key_missing',
  'idempotency_key_malformed',
  'idempotency_key_reused_with_different_payload',
  'idempotency_key_in_progress',
  'idempotency_key_expired',
  'answer_withheld',
])

/** Who has run may be told these, too. */
const alsoHavingRun: ReadonlySet<string> = new Set([
  'idempotency_key_in_progress',
  'outcome_unknown',
  'answer_withheld',
])

/** What a client may be told that is no answer, where the fault is not on this side. */
const refusals: ReadonlyMap<string, number> = new Map([
  ['idempotency_key_missing', 400],
  ['idempotency_key_malformed', 400],
  ['idempotency_key_reused_with_different_payload', 422],
  ['idempotency_key_in_progress', 409],
  ['idempotency_key_expired', 410],
  ['outcome_unknown', 409],
  ['answer_withheld', 409],
  ['waiting_room_full', 429],
])

/** Why it is no answer; `undefined` where something failed that has no code. Nobody is refused in a way that is not judged. */
export function codeOf({ status, body }: Sent, name: string): string | undefined {
  if (status !== 503 && status >= 500) return undefined
  const { code } = JSON.parse(body) as { readonly code?: string }
  if (status < 500)
    demand(
      code !== undefined && refusals.get(code) === status,
      () => `${name} was refused with ${status} ${code}, which is not told here`,
    )
  return code
}

/** What is known of a change beside it. */
interface Circumstances {
  readonly now: number
  /** It came of a request whose line had broken. */
  readonly isAdrift: boolean
  /** What each claim found, by its id. */
  readonly found: Map<string, RecordChange['before']>
}

/** What a task made of a record, as far as that says whether it may be refused for nothing. */
export function noteChange(task: Task, change: RecordChange, { now, isAdrift, found }: Circumstances): void {
  const { before, after } = change
  const isClaimed = after?.state === 'in_progress' && after.claimId !== before?.claimId
  // What is on its way cannot be called back, only given back: by one loop, for all whose claims nobody has heard of.
  if ((isAdrift && isClaimed) || isGivenBack(change, found) || isCompletedLate(change, task)) task.excused++
  if (isClaimed) found.set(after.claimId, before)
  if (after !== undefined && after.fence > (before?.fence ?? 0)) task.claims++
  else if (!mayAnybody(before, after, now)) task.strayChanges++
}

/**
 * By its own claim, which nobody but its holder has. Where the store did not answer in time he tries again, by a timer that all
 * requests of a process share: whoever has set that, it is the holder's doing.
 */
function isCompletedLate({ before, after }: RecordChange, { claims }: Task): boolean {
  return claims === 0 && after?.state === 'completed' && before?.claimId === after.claimId
}

/** The record is as its claim has found it. */
function isGivenBack({ before, after }: RecordChange, found: Circumstances['found']): boolean {
  if (before?.state !== 'in_progress' || !found.has(before.claimId)) return false
  const earlier = found.get(before.claimId)
  // Where it took over from one whose lease was over, that one may go on.
  const isOpenAgain = after?.state === earlier?.state || after?.state === 'failed_retryable'
  if (isOpenAgain && after?.generation === earlier?.generation) return true
  // Where it used a key anew, there is nothing in that generation.
  return after?.state === 'expired' && after.generation === before.generation && earlier?.state === 'completed'
}

/** A request that meets a lease that is over says so on record, and lets evidence that is there already settle it. */
function mayAnybody(before: RecordChange['before'], after: RecordChange['after'], now: number): boolean {
  if (before?.state === 'in_progress') return after?.state === 'unknown' && (before.leaseUntil ?? 0) <= now
  return before?.state === 'unknown' && after !== undefined
}

/** What a task has found under its key, by the database's clock. */
export function noteMet(task: Task | undefined, met: StoredRecord | 'locked', now: number): void {
  if (task === undefined) return
  if (met === 'locked') {
    task.met.add('holder')
    return
  }
  const { state, leaseUntil = 0 } = met
  if (state === 'in_progress') task.met.add(leaseUntil > now ? 'holder' : 'doubt')
  if (state === 'unknown') task.met.add('doubt')
  if (isInForce(met, now)) task.met.add('request')
}

/** Only an answer stands for nothing more when its time is over, and only if none of its effects is left: what is half-done does. */
function isInForce({ state, hasEffects, expiresAt = Number.POSITIVE_INFINITY }: StoredRecord, now: number): boolean {
  return state !== 'expired' && (state !== 'completed' || hasEffects || expiresAt > now)
}

/** What is sent, and what it is about. */
interface Refusal {
  readonly task: Task
  readonly code: string
  readonly name: string
  readonly record: StoredRecord | undefined
  readonly now: number
  /** Neither harmed, nor stopped for so long that its lease is over. */
  readonly isUnharmed: boolean
}

/** Whoever has not run is told what he has met, and nothing else; of what stands there a node may know without looking. */
function judgeMet({ task: { met, claims }, code, name, record, now }: Refusal): void {
  if (claims > 0) return
  switch (code) {
    case 'idempotency_key_in_progress':
      demand(met.has('holder'), () => `${name} was told that it is under way, and has met nobody who has its key`)
      break
    case 'outcome_unknown':
      demand(met.has('doubt'), () => `${name} was told that nobody knows, and has met no doubt`)
      break
    case 'idempotency_key_reused_with_different_payload': {
      const isMet = met.has('request') || (record !== undefined && isInForce(record, now))
      demand(isMet, () => `${name} was told of another request, and its key stands for none any more`)
      break
    }
  }
}

/**
 * A rejected request changes nothing. One that ran, and is told that it runs still, that nobody knows or that its answer cannot be
 * kept, was not rejected: who is neither harmed nor stopped for so long that his lease is over has done something by then.
 */
export function judgeRefusal(refusal: Refusal): void {
  const { task, code, name, isUnharmed } = refusal
  const hasRun = task.claims > 0 && alsoHavingRun.has(code)
  if (hasRun) {
    // Beside the key that it took: a question to a provider, or a row.
    const hasDone = task.asks > 0 || task.writes > 1
    demand(hasDone || !isUnharmed, () => `${name} took its key, did nothing, and was refused with ${code}`)
    return
  }
  if (harmless.has(code)) task.refusedWith = code
  judgeRefused(task, name)
  if (code === 'outcome_unknown')
    demand(task.strayChanges === 0, () => `${name} was refused with ${code}, and changed a record`)
  judgeMet(refusal)
}

/** Also later, in the background, it changes nothing. */
export function judgeRefused({ refusedWith, writes, excused }: Task, name: string): void {
  if (refusedWith === undefined || writes <= excused) return
  violated(`${name} was refused with ${refusedWith}, and changed ${writes - excused} rows`)
}
