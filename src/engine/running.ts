import { type Awaitable, after, attempted, isPromise } from '../kernel/awaitable.js'
import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { backoffs, defaults } from '../kernel/limits.js'
import { type Context, subjectOf } from './context.js'
import { type Ending, endingOf, type HandlerResult } from './evidence.js'
import type { Guarded } from './guarded.js'
import { type HeldWork, heldWork, keptAnswer } from './held-work.js'
import { keepLease, type Lease } from './lease.js'
import { type Answered, type Outcome, unknownOutcome } from './outcome.js'
import type { Policy } from './policy.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'
import { replay } from './replay.js'

/** What a request won: a claim, the record under it, and when it had asked for it. */
export interface Won {
  readonly claim: Claim
  readonly record: StoredRecord
  readonly askedAt: number
}

/**
 * Runs the handler of a claim and makes its ending durable, in this order: the lease is kept while the handler
 * runs; what happened decides the ending; the ending is written under the fence; only then is anything said.
 *
 * The caller going away changes none of this. A store that fails after the handler acted is tried again in the
 * background until `maxRun`, and the key is never released.
 */
export function runClaimed<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  won: Won,
  onStart: () => void,
): Awaitable<Outcome> {
  const { background } = context
  const { leaseMs } = guarded.policy
  return after(stillHeld(context, guarded, won), (held) => {
    if (held === undefined) return nothingRan('claim_lost', leaseMs)
    if (background.ended.aborted) return givenBack(context, held, leaseMs)
    onStart()
    return run(context, guarded, held)
  })
}

async function givenBack<Tx>({ store }: Context<Tx>, { claim }: Won, leaseMs: number): Promise<Outcome> {
  await store.release(claim).catch(() => undefined)
  return nothingRan('engine_closed', leaseMs)
}

/** Settles when the ending is durable, or when the handler has run for longer than it may. */
function run<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, won: Won): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const onOverrun = () => {
      context.events.emit('overran', () => subjectOf(guarded))
      const message = 'The handler still runs, longer than its policy allows.'
      resolve(refused('idempotency_key_in_progress', message, guarded.policy.leaseMs))
    }
    const run = started(context, guarded, won, onOverrun)
    const finishing = handlerResult(run).then((result) => finish(run, result))
    context.background.track(finishing).then(resolve, reject)
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

/** A reply that came late may speak of a lease that is nearly over: it is renewed before anything runs. */
function stillHeld<Tx>(context: Context<Tx>, { policy }: Guarded<Tx>, won: Won): Awaitable<Won | undefined> {
  const askedAt = context.clock.elapsed()
  return askedAt - won.askedAt < policy.leaseMs / 3 ? won : renewed(context, policy, { ...won, askedAt })
}

async function renewed<Tx>({ store, abandoned }: Context<Tx>, { leaseMs }: Policy, won: Won): Promise<Won | undefined> {
  try {
    return (await store.renew(won.claim, leaseMs)) ? won : undefined
  } catch {
    abandoned.add({ ...won.claim, leaseMs })
    return undefined
  }
}

function started<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  { claim, record, askedAt }: Won,
  onOverrun: () => void,
): Run<Tx> {
  const { clock, store, background } = context
  const onLost = () => tellLost(context, guarded, claim)
  const lease = keepLease(claim, guarded.policy, { store, clock, askedAt, background, onLost, onOverrun })
  const held = heldWork(context.wholeStore, guarded, claim, record, lease)
  return { context, guarded, claim, lease, held, startedAt: clock.elapsed() }
}

async function handlerResult<Tx>({ guarded, held }: Run<Tx>): Promise<HandlerResult> {
  let value: unknown
  try {
    value = await guarded.handler(held.work)
  } catch (error) {
    const commit = held.commit()
    const isTurnedAway = commit.kind === 'turned_away' && commit.error === error
    return isTurnedAway ? { kind: 'answered', answer: commit.answer } : { kind: 'threw', error }
  }
  try {
    const answer = guarded.toAnswer(value)
    return { kind: 'answered', answer: isPromise(answer) ? await answer : answer }
  } catch (error) {
    return { kind: 'unwritable', error }
  }
}

function finish<Tx>(run: Run<Tx>, result: HandlerResult): Awaitable<Outcome> {
  const commit = run.held.commit()
  if (commit.kind === 'committed') {
    run.lease.stop()
    if (result.kind === 'threw') tellThrewAfterCommit(run)
    return ownAnswer(run, commit.answer, commit.expiresAt)
  }
  const ending = endingOf(result, run.held.openDoubt(), run.guarded)
  return attempted(
    () =>
      after(write(run, ending, result), (outcome) => {
        run.lease.stop()
        return outcome
      }),
    () => {
      void run.context.background.track(keepWriting(run, ending, result))
      return unwritten(run, ending, result)
    },
  )
}

/** Writes the ending under the fence and says what it means for the caller. Throws only when the store failed. */
function write<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Awaitable<Outcome> {
  const isSure = run.held.commit().kind !== 'unsure'
  if (isSure && ending.kind === 'complete') return complete(run, ending.answer, result)
  return writeRarely(run, ending, result)
}

function complete<Tx>(run: Run<Tx>, said: Answer | undefined, result: HandlerResult): Awaitable<Outcome> {
  const { context, guarded, claim } = run
  const answer = said === undefined ? unwritable : keptAnswer(said, guarded.policy)
  const { answerVersion } = guarded.policy
  return after(context.store.complete(claim, { answer, answerVersion }), (completed) => {
    if (completed === false) return readBack(run, result)
    return said === undefined ? withheld(run, result) : ownAnswer(run, said, completed.expiresAt)
  })
}

async function writeRarely<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim } = run
  const { store, events } = context
  const subject = () => subjectOf(guarded)
  const durable = run.held.commit().kind === 'unsure' ? await durableAnswer(run) : undefined
  if (durable !== undefined) return durable
  switch (ending.kind) {
    case 'complete':
      return complete(run, ending.answer, result)
    case 'fail':
      if (!(await store.fail(claim, { errorCode: ending.errorCode }))) return readBack(run, result)
      events.emit('failed', () => ({ ...subject(), errorCode: ending.errorCode }))
      return notStored(run, result)
    case 'doubt': {
      const doubt = { errorCode: ending.errorCode, reconcileAfterMs: defaults.reconcileAfterMs }
      if (!(await store.doubt(claim, doubt))) return readBack(run, result)
      events.emit('doubted', () => ({ ...subject(), errorCode: ending.errorCode }))
      return inDoubt(result)
    }
    case 'release':
      if (!(await store.release(claim))) return readBack(run, result)
      events.emit('released', subject)
      return notStored(run, result)
  }
}

/** The answer that the record holds for this claim's generation, whoever made it. */
async function durableAnswer<Tx>({ context, guarded, claim }: Run<Tx>): Promise<Answered | undefined> {
  const record = await context.store.find(claim)
  if (record?.generation !== claim.generation || record.state !== 'completed') return undefined
  return { ...replay(guarded.policy, record), replayed: record.claimId !== claim.claimId }
}

/** The claim is stale: somebody took over, evidence settled it, or a sweeper found it. The record says which. */
async function readBack<Tx>(run: Run<Tx>, result: HandlerResult): Promise<Outcome> {
  const { context, guarded, claim, lease } = run
  if (!lease.isOver()) tellLost(context, guarded, claim)
  const durable = await durableAnswer(run)
  if (durable !== undefined) return durable
  const record = await context.store.find(claim)
  return record?.state === 'unknown' ? inDoubt(result) : claimLost(errorOf(result), guarded.policy.leaseMs)
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
function ownAnswer<Tx>(run: Run<Tx>, answer: Answer, expiresAt: number | undefined): Answered {
  const { context, guarded, claim } = run
  const bytes = answer.body.byteLength
  tellCompleted(run, answer.status, bytes)
  if (bytes > guarded.policy.maxAnswerBytes) context.events.emit('withheld', () => ({ ...subjectOf(guarded), bytes }))
  const kept: StoredAnswer = { kind: 'kept', ...answer }
  return { kind: 'answered', answer: kept, stored: true, replayed: false, generation: claim.generation, expiresAt }
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

function notStored<Tx>({ claim }: Run<Tx>, result: HandlerResult): Outcome {
  if (result.kind !== 'answered') return { kind: 'threw', error: result.error }
  const answer: StoredAnswer = { kind: 'kept', ...result.answer }
  const { generation } = claim
  return { kind: 'answered', answer, stored: false, replayed: false, generation, expiresAt: undefined }
}

function inDoubt(result: HandlerResult): Outcome {
  const details = { retryAfterMs: defaults.unknownRetryAfterMs, cause: errorOf(result) }
  return { kind: 'refused', error: unknownOutcome(details) }
}

/** What to say while the ending is not durable yet: only an answer that is for good has to wait for that. */
function unwritten<Tx>(run: Run<Tx>, ending: Ending, result: HandlerResult): Outcome {
  if (ending.kind === 'doubt') return inDoubt(result)
  if (ending.kind !== 'complete') return notStored(run, result)
  return refused('answer_not_stored', 'Ask again with the same key: the answer will be there once the store is back.')
}

function nothingRan(code: 'claim_lost' | 'engine_closed', retryAfterMs: number): Outcome {
  const message = 'Nothing ran for this request; send it again with the same key.'
  return { kind: 'refused', error: new HapaxError(code, message, { retryAfterMs }) }
}

function claimLost(cause: unknown, retryAfterMs: number): Outcome {
  const message = 'This holder lost the key while its handler ran; ask again with the same key for the answer.'
  return { kind: 'refused', error: new HapaxError('claim_lost', message, { retryAfterMs, cause }) }
}

function refused(
  code: 'answer_not_stored' | 'idempotency_key_in_progress',
  message: string,
  retryAfterMs: number = defaults.inProgressRetryAfterMs,
): Outcome {
  return { kind: 'refused', error: new HapaxError(code, message, { retryAfterMs }) }
}

function errorOf(result: HandlerResult): unknown {
  return result.kind === 'answered' ? undefined : result.error
}

function tellCompleted<Tx>({ context, guarded, startedAt }: Run<Tx>, status: number, bytes: number): void {
  const runMs = context.clock.elapsed() - startedAt
  context.events.emit('completed', () => ({ ...subjectOf(guarded), status, bytes, runMs }))
}

function tellLost<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>, { fence }: Claim): void {
  events.emit('claim_lost', () => ({ ...subjectOf(guarded), fence }))
}

function tellThrewAfterCommit<Tx>({ context, guarded }: Run<Tx>): void {
  const message = `a handler of policy "${guarded.policy.name}" threw after work.commit; the answer that it committed stands.`
  context.log({ level: 'warn', code: 'threw_after_commit', message })
}
