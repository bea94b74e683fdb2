import { type Clock, within } from '../kernel/clock.js'
import { HapaxError, invariant, isHapaxError } from '../kernel/errors.js'
import { type Admission, admissionOf } from './admission.js'
import { collectedEffects } from './collected-effects.js'
import { type Context, subjectOf } from './context.js'
import type { NewEffect } from './effect-store.js'
import { type Ending, endingOf, type HandlerResult } from './evidence.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import { kept, keptAnswer } from './held-work.js'
import type { Answered, Outcome } from './outcome.js'
import { finished, type StoredAnswer, type StoredRecord, started } from './record.js'
import { comparedAnew, reservationOf } from './reserving.js'
import { SingleWork } from './single-work.js'
import type { Committed, SingleOutcome, Store } from './store.js'
import { isExpired } from './transitions.js'
import { completedEvent, reservedEvent } from './usual-events.js'
import type { Judged, Reservation } from './verdict.js'

/** What one-transaction mode gives: an outcome, or what the store said instead of running. */
export type Single =
  | { readonly kind: 'ended'; readonly outcome: Outcome }
  | { readonly kind: 'judged'; readonly verdict: Judged }

/**
 * One request as one transaction. The store takes the key's lock and judges; the handler writes its rows; the completed
 * record is the last write before COMMIT. So nobody ever sees it in progress, a crash leaves nothing, and there is no lease
 * to keep. An answer of 400 or more undoes the rows and is stored; whatever is no answer undoes everything.
 */
export async function single<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
): Promise<Single> {
  const store = withSingle(context.wholeStore)
  const admission = admissionOf(context, guarded)
  try {
    await admitted(context, guarded, admission)
    const asking = { claimId: context.chance.id(), current: fingerprint }
    return await attempt(context, guarded, store, reservationOf(context, guarded, asking, 'take'))
  } finally {
    admission?.leave()
  }
}

async function attempt<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  store: WithSingle<Tx>,
  reservation: Reservation,
): Promise<Single> {
  const startedAt = context.clock.elapsed()
  let undone: { readonly ending: Ending; readonly result: HandlerResult } | undefined
  let done: SingleOutcome<Kept>
  try {
    done = await store.single(
      reservation,
      async ({ tx, claim, record }) => {
        if (record.recoveryPoint !== started || record.isBegun) throw halfDone(guarded.policy.name)
        context.events.emit('reserved', (detail) => reservedEvent(guarded, claim, detail))
        const canKeep = store.effects !== undefined
        const effects = collectedEffects(claim, finished, {
          catalogue: context.effects,
          canKeep,
          policy: guarded.policy,
        })
        const result = await ran(
          context,
          guarded,
          new SingleWork({ tx, claim, record, effects, toAnswer: (value) => guarded.toAnswer(value) }),
        )
        const asked = effects.end()
        const ending = endingOf(result, undefined, guarded)
        if (ending.kind !== 'complete' || ending.answer === undefined) {
          undone = { ending, result }
          throw new Undone()
        }
        return stepOf(guarded, { ending, effects: asked, record })
      },
      guarded.joins,
    )
  } catch (error) {
    if (undone !== undefined) return { kind: 'ended', outcome: undoneOutcome(context, guarded, undone) }
    throw error
  }
  if (done.kind === 'committed') {
    tellCompleted(context, guarded, done.value, startedAt)
    cache(context, guarded, done, startedAt)
    return { kind: 'ended', outcome: { ...done.value.outcome, expiresAt: done.expiresAt } }
  }
  const { verdict } = done
  if (verdict.kind !== 'incomparable') {
    invariant(verdict.kind !== 'new', 'a key that may be taken is taken')
    return { kind: 'judged', verdict }
  }
  const anew = comparedAnew(guarded, reservation, verdict)
  return anew === undefined
    ? { kind: 'judged', verdict: { kind: 'mismatched' } }
    : attempt(context, guarded, store, anew)
}

/** Durable, so that it may be given again from here; what joined a transaction is not, before its owner commits. */
function cache<Tx>(
  context: Context<Tx>,
  { policy, joins, minted, trace }: Guarded<Tx>,
  { value, expiresAt }: Committed<Kept>,
  startedAt: number,
): void {
  if (context.cache === undefined || minted === true || joins !== undefined) return
  const { answer, record } = value
  const { scope, key, generation, operation, fingerprint, retentionMs = Number.POSITIVE_INFINITY } = record
  const { answerVersion } = policy
  const kept = { scope, key, generation, operation, fingerprint, answer, answerVersion, expiresAt, trace }
  context.cache.keep(kept, { askedAt: startedAt, until: startedAt + retentionMs })
}

/** The handler's result is not for good: all that it wrote is undone by this. */
class Undone extends Error {}

interface Ended {
  readonly ending: Ending
  readonly effects: readonly NewEffect[]
  /** As it would be with the claim. */
  readonly record: StoredRecord
}

/** What was kept with the commit, to be told after it. */
interface Kept {
  readonly outcome: Answered
  readonly answer: StoredAnswer
  readonly record: StoredRecord
  readonly bytes: number
  readonly effects: number
}

function stepOf<Tx>({ policy, trace }: Guarded<Tx>, { ending, effects, record }: Ended) {
  invariant(ending.kind === 'complete' && ending.answer !== undefined, 'what is undone does not come here')
  const { answer } = ending
  const rows = answer.status < 400 ? ('keep' as const) : ('undo' as const)
  const completion = { answer: keptAnswer(answer, policy), answerVersion: policy.answerVersion }
  const written = rows === 'keep' ? effects : []
  const outcome: Answered = {
    kind: 'answered',
    answer: kept(answer),
    stored: true,
    replayed: false,
    generation: record.generation,
    expiresAt: undefined,
    trace,
  }
  const value: Kept = {
    outcome,
    answer: completion.answer,
    record,
    bytes: answer.body.byteLength,
    effects: written.length,
  }
  return { value, rows, completion, effects: written }
}

function tellCompleted<Tx>(
  { clock, events }: Context<Tx>,
  guarded: Guarded<Tx>,
  { outcome, bytes, effects: count }: Kept,
  startedAt: number,
): void {
  const { status } = outcome.answer
  events.emit('completed', (detail) =>
    completedEvent(guarded, { status, bytes, runMs: clock.elapsed() - startedAt }, detail),
  )
  if (bytes > guarded.policy.maxAnswerBytes) events.emit('withheld', () => ({ ...subjectOf(guarded), bytes }))
  // Those that joined a transaction are there when its owner has committed, which nobody hears of here.
  if (count > 0 && guarded.joins === undefined) events.emit('effects_written', () => ({ ...subjectOf(guarded), count }))
}

/** Runs the handler within its time. */
async function ran<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, work: SingleWork<Tx>): Promise<HandlerResult> {
  const { clock, background } = context
  const { maxRunMs } = guarded.policy
  const unlisten = background.ended.onStop(() => work.end(new HapaxError('engine_closed')))
  try {
    const value = await bounded(clock, maxRunMs, work, async () => guarded.handler(work, guarded.input))
    const said = await work.answered()
    return { kind: 'answered', answer: said ?? (await guarded.toAnswer(value)) }
  } catch (error) {
    return { kind: 'threw', error }
  } finally {
    unlisten()
  }
}

function bounded<Tx, T>(clock: Clock, maxRunMs: number, work: SingleWork<Tx>, run: () => Promise<T>): Promise<T> {
  return within(clock, maxRunMs, run(), () => {
    const late = new HapaxError('transaction_timeout', 'The handler ran longer than maxRun; all of it is undone.')
    work.end(late)
    return late
  })
}

/** Nothing is left of it, so the next request simply runs. */
function undoneOutcome<Tx>(
  { events }: Context<Tx>,
  guarded: Guarded<Tx>,
  { ending, result }: { readonly ending: Ending; readonly result: HandlerResult },
): Outcome {
  const errorCode = 'errorCode' in ending ? ending.errorCode : 'unwritable'
  events.emit('failed', () => ({ ...subjectOf(guarded), errorCode }))
  if (result.kind !== 'answered') return { kind: 'threw', error: result.error }
  return {
    kind: 'answered',
    answer: kept(result.answer),
    stored: false,
    replayed: false,
    generation: 0,
    expiresAt: undefined,
  }
}

/** Quotas and freshness are for keys that are new. */
async function admitted<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  admission: Admission | undefined,
): Promise<void> {
  if (admission === undefined) return
  const record = await context.store.find(guarded)
  if (record !== undefined && !isExpired(record, context.clock.now())) return
  await admission.admit().catch((error: unknown) => {
    if (isHapaxError(error))
      context.events.emit('turned_away', () => ({ ...subjectOf(guarded), errorCode: error.code }))
    throw error
  })
}

/** Nothing of it may be passed over, and one transaction has no place for it. */
function halfDone(name: string): HapaxError {
  const message = `An earlier attempt of "${name}" was made in phases, and is half done. Finish it with the code that began it.`
  return new HapaxError('recovery_point_unknown', message)
}

type WithSingle<Tx> = Store<Tx> & { readonly single: NonNullable<Store<Tx>['single']> }

function withSingle<Tx>(store: Store<Tx>): WithSingle<Tx> {
  if (store.single !== undefined) return store as WithSingle<Tx>
  const message = `The ${store.name} store cannot make one transaction of a request; leave mode: 'transaction' out.`
  throw new HapaxError('transaction_unsupported', message)
}
