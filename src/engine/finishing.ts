import { type Awaitable, isPromise } from '../kernel/awaitable.js'
import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { backoffs, defaults, limits, workerBounds } from '../kernel/limits.js'
import { consult } from './believing.js'
import { type Context, subjectOf } from './context.js'
import { type Ending, endingOf, type HandlerResult, type Unsound } from './evidence.js'
import type { Guarded } from './guarded.js'
import { type HeldWork, kept, keptAnswer } from './held-work.js'
import type { Lease } from './lease.js'
import { giveUp } from './leaving.js'
import { codeOf } from './name.js'
import { type Answered, type Outcome, unknownOutcome, unknownRetryMs } from './outcome.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'
import { replay } from './replay.js'
import type { Completed } from './store.js'
import { completedEvent } from './usual-events.js'

/** A run whose handler is over. */
export interface Run<Tx> {
  readonly context: Context<Tx>
  readonly guarded: Guarded<Tx>
  readonly claim: Claim
  readonly lease: Pick<Lease, 'startedAt' | 'stopping' | 'stop'>
  readonly work: Pick<HeldWork<Tx>, 'unsound' | 'missed' | 'openCall' | 'isLookedUp' | 'isUsed' | 'commitState'>
  readonly attempt: number
  /** As it was when the claim was given. */
  readonly record: Pick<StoredRecord, 'operation' | 'fingerprint' | 'retentionMs'>
}

/** Makes the ending of a run durable, and says what it means for whoever waits. */
export function finish<Tx>(run: Run<Tx>, result: HandlerResult): Awaitable<Outcome> {
  const commit = run.work.commitState
  if (commit.kind === 'committed') {
    run.lease.stop()
    if (result.kind === 'threw') tellThrewAfterCommit(run)
    cache(run, keptAnswer(commit.answer, run.guarded.policy), commit)
    return ownAnswer(run, commit.answer, commit.expiresAt)
  }
  const ending = endingFor(run, result)
  let outcome: Awaitable<Outcome>
  try {
    outcome = write(run, ending, result)
  } catch (error) {
    return writtenLater(run, ending, result, error)
  }
  if (!isPromise(outcome)) return written(run, outcome)
  return outcome.then(
    (outcome) => written(run, outcome),
    (error: unknown) => writtenLater(run, ending, result, error),
  )
}

/** What has begun is not released. */
function endingFor<Tx>({ work, guarded }: Run<Tx>, result: HandlerResult): Ending {
  const ending = endingOf(result, work.unsound ?? passedOver(work, result), guarded)
  return ending.kind === 'release' && work.isUsed ? { kind: 'fail', errorCode: 'released_late' } : ending
}

/**
 * An answer that passes over a phase on record was given by other code. An error may come before any phase, but ends no
 * call that is open, whatever the policy makes of errors.
 */
function passedOver<Tx>(work: Run<Tx>['work'], result: HandlerResult): Unsound | undefined {
  switch (result.kind) {
    case 'answered':
    case 'unwritable':
      return work.missed
    case 'threw': {
      const kind = work.openCall
      return kind && { kind, errorCode: codeOf(result.error) }
    }
    case 'unresumable':
      return undefined
  }
}

function written<Tx>({ lease }: Run<Tx>, outcome: Outcome): Outcome {
  lease.stop()
  return outcome
}

function writtenLater<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult, error: unknown): Outcome {
  const { context, guarded } = run
  // The store fails by a HapaxError. Anything else is a bug, which trying again may not mend.
  if (!isHapaxError(error)) {
    const message = `an ending of policy "${guarded.policy.name}" could not be written: ${String(error)}`
    context.log({ level: 'error', code: 'ending_failed', message })
  }
  void context.background.track(keepWriting(run, ending, result))
  return unwritten(run, ending, result)
}

/** Writes the ending under the fence and says what it means for the caller. Throws only when the store failed. */
function write<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Awaitable<Outcome> {
  const isSure = run.work.commitState.kind !== 'unsure'
  if (isSure && ending.kind === 'complete') return complete(run, ending.answer, result)
  return writeRarely(run, ending, result)
}

function complete<Tx>(run: Run<Tx>, said: Answer | undefined, result: HandlerResult): Awaitable<Outcome> {
  const { context, guarded, claim } = run
  const asked = askedFor(run, said)
  const completed = context.store.complete(claim, { answer: asked.answer, answerVersion: guarded.policy.answerVersion })
  if (isPromise(completed)) return completed.then((completed) => told(run, asked, completed, result))
  return told(run, asked, completed, result)
}

/** What the store was asked to keep, and when. */
interface Asked {
  readonly said: Answer | undefined
  readonly answer: StoredAnswer
  readonly askedAt: number
}

function askedFor<Tx>({ context, guarded }: Run<Tx>, said: Answer | undefined): Asked {
  const answer = said === undefined ? unwritable : keptAnswer(said, guarded.policy)
  return { said, answer, askedAt: context.clock.elapsed() }
}

function told<Tx>(
  run: Run<Tx>,
  { said, answer, askedAt }: Asked,
  completed: false | Completed,
  result: HandlerResult,
): Awaitable<Outcome> {
  if (completed === false) return readBack(run, result)
  cache(run, answer, { askedAt, expiresAt: completed.expiresAt })
  return said === undefined ? withheld(run, result) : ownAnswer(run, said, completed.expiresAt)
}

/**
 * Durable, so that it may be given again from here. Its retention begins with the write that made it so, which came after
 * the run had begun, and no phase makes it shorter.
 */
function cache<Tx>(
  { context, guarded, claim, lease, record }: Run<Tx>,
  answer: StoredAnswer,
  { askedAt, expiresAt }: { readonly askedAt: number; readonly expiresAt: number | undefined },
): void {
  if (context.cache === undefined || guarded.minted === true) return
  const { scope, key, generation } = claim
  const { operation, fingerprint, retentionMs = Number.POSITIVE_INFINITY } = record
  const { answerVersion } = guarded.policy
  const kept = {
    scope,
    key,
    generation,
    operation,
    fingerprint,
    answer,
    answerVersion,
    expiresAt,
    trace: guarded.trace,
  }
  context.cache.keep(kept, { askedAt, until: lease.startedAt + retentionMs })
}

async function writeRarely<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim } = run
  const { store, events } = context
  const subject = () => subjectOf(guarded)
  const isUnsure = run.work.commitState.kind === 'unsure'
  const durable = isUnsure ? answerIn(run, await store.find(claim)) : undefined
  if (durable !== undefined) return stands(run, durable)
  switch (ending.kind) {
    case 'complete':
      return completeUnsure(run, ending.answer, result)
    case 'fail':
      if (!(await failed(run, ending.errorCode, result))) return readBack(run, result)
      events.emit('failed', () => ({ ...subject(), errorCode: ending.errorCode }))
      return notStored(run, result)
    case 'doubt': {
      const doubt = { errorCode: ending.errorCode, reconcileAfterMs: defaults.reconcileAfterMs }
      if (!(await store.doubt(claim, doubt))) return readBack(run, result)
      events.emit('doubted', () => ({ ...subject(), errorCode: ending.errorCode }))
      // Evidence may have come before the doubt.
      void context.background.track(consult(context, claim))
      return inDoubt(result, run.work.isLookedUp ? workerBounds.reconcileMs : undefined)
    }
    case 'release':
      if (!(await store.release(claim))) return readBack(run, result)
      events.emit('released', subject)
      return notStored(run, result)
    case 'leave':
      return inDoubt(result)
  }
}

/**
 * What was to be committed may still land, up to the moment in which this is written, and the store takes this for a repeat
 * of it then: the record says which of the two stands.
 */
async function completeUnsure<Tx>(run: Run<Tx>, said: Answer | undefined, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim } = run
  const asked = askedFor(run, said)
  const { answerVersion } = guarded.policy
  const completed = await context.store.complete(claim, { answer: asked.answer, answerVersion })
  if (completed === false) return readBack(run, result)
  const record = await context.store.find(claim)
  const durable = answerIn(run, record)
  if (durable === undefined) return claimLost(errorOf(result), guarded.policy.leaseMs)
  return isSame(record?.answer, asked.answer) ? told(run, asked, completed, result) : stands(run, durable)
}

/** What was to be committed has landed after all, and is told now, unless somebody else has answered. */
function stands<Tx>(run: Run<Tx>, durable: Answered): Answered {
  const { answer, replayed } = durable
  if (!replayed) tellCompleted(run, answer.status, answer.kind === 'kept' ? answer.body.byteLength : answer.bytes)
  return durable
}

function isSame(one: StoredAnswer | undefined, other: StoredAnswer): boolean {
  if (one?.kind === 'kept' && other.kind === 'kept')
    return one.status === other.status && Buffer.compare(one.body, other.body) === 0
  return (
    one?.kind === 'withheld' && other.kind === 'withheld' && one.status === other.status && one.bytes === other.bytes
  )
}

/** An operation goes on by itself, a bounded number of times; then it waits for its client, or for a person. */
function failed<Tx>(run: Run<Tx>, errorCode: string, result: HandlerResult): Awaitable<boolean> {
  const { context, guarded, claim, attempt } = run
  // What cannot be read here may be gone on with by another node.
  const mayGoOn = guarded.input !== undefined || result.kind === 'unresumable'
  if (!mayGoOn) return context.store.fail(claim, { errorCode })
  if (attempt >= limits.resumeAttempts) return giveUp(context, claim, subjectOf(guarded))
  const resumeAfterMs = backoffMs(backoffs.resuming, attempt, context.chance)
  return context.store.fail(claim, { errorCode, resumeAfterMs })
}

/** The answer that the record holds for this claim's generation, whoever made it. */
function answerIn<Tx>({ guarded, claim }: Run<Tx>, record: StoredRecord | undefined): Answered | undefined {
  if (record?.generation !== claim.generation || record.state !== 'completed') return undefined
  return { ...replay(guarded.policy, record), replayed: record.claimId !== claim.claimId }
}

/** The claim is stale: somebody took over, evidence settled it, or a sweeper found it. The record says which. */
async function readBack<Tx>(run: Run<Tx>, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim, lease } = run
  if (!lease.stopping.isStopped) tellLost(run)
  const record = await context.store.find(claim)
  const durable = answerIn(run, record)
  if (durable !== undefined) return durable
  return record?.state === 'unknown' ? inDoubt(result) : claimLost(errorOf(result), guarded.policy.leaseMs)
}

/** Tries again until the ending is durable or the handler's time is up; then the sweeper finds doubt. */
async function keepWriting<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Promise<void> {
  const { context, guarded, lease } = run
  const { clock, chance, background, events } = context
  for (
    let attempt = 1;
    clock.elapsed() - lease.startedAt < guarded.policy.maxRunMs && !background.ended.isStopped;
    attempt++
  ) {
    await sleep(clock, backoffMs(backoffs.storing, attempt, chance), background.ended)
    try {
      const outcome = await write(run, ending, result)
      if (outcome.kind === 'answered' && outcome.stored) events.emit('completed_late', () => subjectOf(guarded))
      break
    } catch {
      // The store still fails: the next round tries again.
    }
  }
  lease.stop()
}

/** The first caller gets the whole answer, even one that was too large to be kept. */
function ownAnswer<Tx>(run: Run<Tx>, answer: Answer, expiresAt: number | undefined): Answered {
  const { context, guarded, claim } = run
  const bytes = answer.body.byteLength
  tellCompleted(run, answer.status, bytes)
  if (bytes > guarded.policy.maxAnswerBytes) context.events.emit('withheld', () => ({ ...subjectOf(guarded), bytes }))
  const { generation } = claim
  const { trace } = guarded
  return { kind: 'answered', answer: kept(answer), stored: true, replayed: false, generation, expiresAt, trace }
}

/** Stands for an answer that could not be written down: it has no status that anybody was told. */
const unwritable: StoredAnswer = { kind: 'withheld', status: 0, headers: [], bytes: 0 }

function withheld<Tx>(run: Run<Tx>, result: HandlerResult): Outcome {
  tellCompleted(run, unwritable.status, 0)
  run.context.events.emit('withheld', () => ({ ...subjectOf(run.guarded), bytes: 0 }))
  const message =
    'The handler ran once, but what it answered cannot be kept or sent. Do not send it again under a new key.'
  return { kind: 'refused', error: new HapaxError('answer_withheld', message, { cause: errorOf(result) }) }
}

function notStored<Tx>({ claim, work }: Run<Tx>, result: HandlerResult): Outcome {
  if (result.kind !== 'answered') return { kind: 'threw', error: result.error }
  // What was answered over a call that is to be made again is no answer, and nobody is told it.
  if (work.unsound !== undefined) return inDoubt(result)
  const answer = kept(result.answer)
  const { generation } = claim
  return { kind: 'answered', answer, stored: false, replayed: false, generation, expiresAt: undefined }
}

function inDoubt(result: HandlerResult, lookInMs = 0): Outcome {
  const details = { retryAfterMs: unknownRetryMs(lookInMs), cause: errorOf(result) }
  return { kind: 'refused', error: unknownOutcome(details) }
}

/** What to say while the ending is not durable yet: only an answer that is for good has to wait for that. */
function unwritten<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Outcome {
  if (ending.kind === 'doubt') return inDoubt(result)
  if (ending.kind !== 'complete') return notStored(run, result)
  const message = 'Ask again with the same key: the answer will be there once the store is back.'
  const details = { retryAfterMs: defaults.inProgressRetryAfterMs }
  return { kind: 'refused', error: new HapaxError('answer_not_stored', message, details) }
}

function claimLost(cause: unknown, retryAfterMs: number): Outcome {
  const message = 'This holder lost the key while its handler ran; ask again with the same key for the answer.'
  return { kind: 'refused', error: new HapaxError('claim_lost', message, { retryAfterMs, cause }) }
}

/** What is said while the handler runs on. */
export function inProgressStill(retryAfterMs: number): Outcome {
  const message = 'The handler still runs, longer than its policy allows.'
  return { kind: 'refused', error: new HapaxError('idempotency_key_in_progress', message, { retryAfterMs }) }
}

function errorOf(result: HandlerResult): unknown {
  return result.kind === 'answered' ? undefined : result.error
}

function tellCompleted<Tx>({ context, guarded, lease }: Run<Tx>, status: number, bytes: number): void {
  const { clock, events } = context
  events.emit('completed', (detail) =>
    completedEvent(guarded, { status, bytes, runMs: clock.elapsed() - lease.startedAt }, detail),
  )
}

export function tellLost<Tx>({ context, guarded, claim }: Run<Tx>): void {
  context.events.emit('claim_lost', () => ({ ...subjectOf(guarded), fence: claim.fence }))
}

function tellThrewAfterCommit<Tx>({ context, guarded }: Run<Tx>): void {
  const message = `a handler of policy "${guarded.policy.name}" threw after work.commit; the answer that it committed stands.`
  context.log({ level: 'warn', code: 'threw_after_commit', message })
}
