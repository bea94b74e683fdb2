import { backoffMs } from '../kernel/backoff.js'
import { sleep, within } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { backoffs, defaults } from '../kernel/limits.js'
import { type Context, subjectOf } from './context.js'
import { type Ending, endingOf, type HandlerResult } from './evidence.js'
import type { Guarded } from './guarded.js'
import { type HeldWork, heldWork, keptAnswer } from './held-work.js'
import { keepLease, type Lease } from './lease.js'
import { type Answered, type Outcome, unknownOutcome } from './outcome.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'

/**
 * Runs the handler of a claim and makes its ending durable, in this order: the lease is kept while the handler
 * runs; what happened decides the ending; the ending is written under the fence; only then is anything said.
 *
 * The caller going away changes none of this. A store that fails after the handler acted is tried again in the
 * background until `maxRun`, and the key is never released.
 */
export async function runClaimed<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  claim: Claim,
  record: StoredRecord,
): Promise<Outcome> {
  const { clock, events } = context
  const startedAt = clock.elapsed()
  const onLost = () => events.emit('claim_lost', () => ({ ...subjectOf(guarded), fence: claim.fence }))
  const lease = keepLease(claim, guarded.policy, {
    store: context.store,
    clock,
    ended: context.background.ended,
    onLost,
  })
  const held = heldWork(context.wholeStore, guarded, claim, record, lease.signal)
  const run: Run<Tx> = { context, guarded, claim, lease, held, startedAt }
  const finishing = context.background.track(handlerResult(run).then((result) => finish(run, result)))
  return within(clock, guarded.policy.maxRunMs, finishing, () => new Overrun()).catch((error: unknown) => {
    if (!(error instanceof Overrun)) throw error
    events.emit('overran', () => subjectOf(guarded))
    return refused(
      'idempotency_key_in_progress',
      'The handler still runs, longer than its policy allows.',
      guarded.policy.leaseMs,
    )
  })
}

interface Run<Tx> {
  readonly context: Context<Tx>
  readonly guarded: Guarded<Tx>
  readonly claim: Claim
  readonly lease: Lease
  readonly held: HeldWork<Tx>
  readonly startedAt: number
}

class Overrun extends Error {}

async function handlerResult<Tx>({ guarded, held }: Run<Tx>): Promise<HandlerResult> {
  let value: unknown
  try {
    value = await guarded.handler(held.work)
  } catch (error) {
    return { kind: 'threw', error }
  }
  try {
    return { kind: 'answered', answer: guarded.toAnswer(value) }
  } catch (error) {
    return { kind: 'unwritable', error }
  }
}

async function finish<Tx>(run: Run<Tx>, result: HandlerResult): Promise<Outcome> {
  const committed = run.held.committed()
  if (committed !== undefined) {
    run.lease.stop()
    return ownAnswer(run, committed.value, committed.expiresAt)
  }
  const ending = endingOf(result, run.held.openDoubt(), run.guarded)
  try {
    const outcome = await write(run, ending, result)
    run.lease.stop()
    return outcome
  } catch (error) {
    void run.context.background.track(keepWriting(run, ending, result))
    return unwritten(ending, result, error)
  }
}

/** Writes the ending under the fence and says what it means for the caller. Throws only when the store failed. */
async function write<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim } = run
  const { store, events } = context
  const subject = () => subjectOf(guarded)
  switch (ending.kind) {
    case 'complete': {
      const answer = ending.answer === undefined ? unwritable : keptAnswer(ending.answer, guarded.policy)
      const completed = await store.complete(claim, { answer, answerVersion: guarded.policy.answerVersion })
      if (completed === false) return readBack(run)
      if (ending.answer === undefined) return withheld(result)
      return ownAnswer(run, ending.answer, completed.expiresAt)
    }
    case 'fail':
      if (!(await store.fail(claim, { errorCode: ending.errorCode }))) return readBack(run)
      events.emit('failed', () => ({ ...subject(), errorCode: ending.errorCode }))
      return notStored(run, result)
    case 'doubt':
      if (!(await store.doubt(claim, { errorCode: ending.errorCode, reconcileAfterMs: defaults.reconcileAfterMs })))
        return readBack(run)
      events.emit('doubted', () => ({ ...subject(), errorCode: ending.errorCode }))
      return inDoubt(result)
    case 'release':
      if (!(await store.release(claim))) return readBack(run)
      events.emit('released', subject)
      return notStored(run, result)
  }
}

/** The claim is stale, or an earlier write of ours had landed: the record says which. */
async function readBack<Tx>({ context, guarded, claim }: Run<Tx>): Promise<Outcome> {
  const record = await context.store.find(claim)
  if (record?.generation !== claim.generation || record.answer === undefined) {
    return refused(
      'claim_lost',
      'Another holder took over this key while the handler ran; ask again for its answer.',
      guarded.policy.leaseMs,
    )
  }
  const { answer, generation, expiresAt } = record
  return { kind: 'answered', answer, stored: true, replayed: record.claimId !== claim.claimId, generation, expiresAt }
}

/** Tries again until the ending is durable or the handler's time is up; then the sweeper finds doubt. */
async function keepWriting<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Promise<void> {
  const { context, guarded, lease, startedAt } = run
  const { clock, chance, background, events } = context
  for (let attempt = 1; clock.elapsed() - startedAt < guarded.policy.maxRunMs && !background.ended.aborted; attempt++) {
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
function ownAnswer<Tx>(
  { context, guarded, claim, startedAt }: Run<Tx>,
  answer: Answer,
  expiresAt: number | undefined,
): Answered {
  const bytes = answer.body.byteLength
  const runMs = context.clock.elapsed() - startedAt
  context.events.emit('completed', () => ({ ...subjectOf(guarded), status: answer.status, bytes, runMs }))
  if (bytes > guarded.policy.maxAnswerBytes) context.events.emit('withheld', () => ({ ...subjectOf(guarded), bytes }))
  const kept: StoredAnswer = { kind: 'kept', ...answer }
  return { kind: 'answered', answer: kept, stored: true, replayed: false, generation: claim.generation, expiresAt }
}

/** Stands for an answer that could not be written down. */
const unwritable: StoredAnswer = { kind: 'withheld', status: 200, headers: [], bytes: 0 }

function withheld(result: HandlerResult): Outcome {
  const cause = result.kind === 'answered' ? undefined : result.error
  return {
    kind: 'refused',
    error: new HapaxError('answer_withheld', 'The handler ran once, but what it returned cannot be written as JSON.', {
      cause,
    }),
  }
}

function notStored<Tx>({ claim }: Run<Tx>, result: HandlerResult): Outcome {
  if (result.kind !== 'answered') return { kind: 'threw', error: result.error }
  const answer: StoredAnswer = { kind: 'kept', ...result.answer }
  return {
    kind: 'answered',
    answer,
    stored: false,
    replayed: false,
    generation: claim.generation,
    expiresAt: undefined,
  }
}

function inDoubt(result: HandlerResult): Outcome {
  const cause = result.kind === 'threw' ? result.error : undefined
  const details = { retryAfterMs: defaults.unknownRetryAfterMs, cause }
  return { kind: 'refused', error: unknownOutcome(details) }
}

function unwritten(ending: Ending, result: HandlerResult, error: unknown): Outcome {
  if (ending.kind === 'doubt') return inDoubt(result)
  if (ending.kind !== 'complete' && result.kind === 'threw') return { kind: 'threw', error: result.error }
  return refused(
    'answer_not_stored',
    'Ask again with the same key: the answer will be there once the store is back.',
    isHapaxError(error) ? error.retryAfterMs : undefined,
  )
}

function refused(
  code: 'claim_lost' | 'answer_not_stored' | 'idempotency_key_in_progress',
  message?: string,
  retryAfterMs?: number,
): Outcome {
  return { kind: 'refused', error: new HapaxError(code, message, retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
