import { type Awaitable, isPromise } from '../kernel/awaitable.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Events } from '../kernel/events.js'
import { consult } from './believing.js'
import type { Pass } from './breaker.js'
import { type Context, subjectOf } from './context.js'
import { meetInProgress, sharedOutcome, type Waited } from './duplicates.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import { openedInTime } from './opened.js'
import { type Outcome, refusal, unknownOutcome, unknownRetryMs } from './outcome.js'
import type { StoredAnswer } from './record.js'
import { refusedReplay } from './refused-replay.js'
import { type Replayable, replay } from './replay.js'
import type { KeptReplay } from './replay-cache.js'
import { type Asked, reserve } from './reserving.js'
import { runClaimed } from './running.js'
import { single } from './single.js'
import { traced, traceEndOf } from './traced.js'
import { compared } from './transitions.js'
import { runUnprotected } from './unprotected.js'
import { replayedEvent } from './usual-events.js'
import type { Judged } from './verdict.js'

/**
 * One guarded request, from its key to its outcome. Nothing runs without a durable reservation, and what the store
 * says about the key decides everything else.
 */
export function execute<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Awaitable<Outcome> {
  const { tracing } = context
  if (tracing === undefined) return executeUntraced(context, guarded)
  const run = (traceparent: string | undefined) => {
    // Known only now, and a copy of the request for each that is traced would be dear.
    ;(guarded as { trace?: string | undefined }).trace = traceparent
    return executeUntraced(context, guarded)
  }
  const about = { operation: guarded.policy.name, kind: 'request' } as const
  return traced(tracing, about, run, (outcome) => traceEndOf(guarded, outcome), guarded)
}

function executeUntraced<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Awaitable<Outcome> {
  const { policy, source } = guarded
  const deadline = context.clock.elapsed() + policy.waitMs
  let fingerprint: Fingerprint
  try {
    fingerprint = policy.fingerprinter.of(source)
  } catch (error) {
    return refusal(error)
  }
  // A key that nobody sent is sent by nobody again.
  const kept = guarded.minted === true ? undefined : context.cache?.find(guarded)
  if (!isPromise(kept))
    return givenFrom(context, guarded, fingerprint, kept) ?? ask(context, guarded, fingerprint, deadline)
  return context.background.track(
    kept.then((kept) => givenFrom(context, guarded, fingerprint, kept) ?? ask(context, guarded, fingerprint, deadline)),
  )
}

/** What a cache knows of the key. `undefined`: ask the store. */
function givenFrom<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  kept: KeptReplay | undefined,
): Awaitable<Outcome> | undefined {
  if (kept === undefined) return undefined
  const comparison = compared(kept, { fingerprints: [fingerprint] })
  if (comparison === undefined) return replayed(context, guarded, kept.answer, kept, 'cache')
  return comparison.kind === 'mismatched' ? mismatched(context, guarded) : undefined
}

function ask<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  deadline: number,
): Awaitable<Outcome> {
  if (guarded.policy.concurrency === 'wait')
    return context.background.track(executeOrShare(context, guarded, fingerprint, deadline))
  return judge(context, guarded, fingerprint, { attempt: 1, deadline })
}

/** A duplicate that may wait joins the one that runs in this process. */
async function executeOrShare<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  deadline: number,
): Promise<Outcome> {
  const { flights } = context
  const flightName = `${guarded.scope}\n${guarded.key}\n${fingerprint}`
  for (let inTheAir = flights.find(flightName); inTheAir !== undefined; inTheAir = flights.find(flightName)) {
    const shared = await sharedOutcome(context, guarded, inTheAir, deadline)
    if (shared !== undefined) return shared
  }
  const flight = Promise.resolve(judge(context, guarded, fingerprint, { attempt: 1, deadline }))
  flights.announce(flightName, flight)
  return flight
}

function judge<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  waited: Waited,
): Awaitable<Outcome> {
  if (context.background.ended.isStopped) return { kind: 'refused', error: new HapaxError('engine_closed') }
  if (guarded.policy.mode === 'transaction')
    return context.background.track(judgeWhole(context, guarded, fingerprint, waited))
  const { breaker, background } = context
  let pass: Pass
  try {
    pass = breaker.enter()
  } catch (error) {
    return unasked(context, guarded, error)
  }
  const heard = (asked: Asked) => {
    breaker.heard(pass)
    return act(context, guarded, fingerprint, asked, waited)
  }
  const refused = (error: unknown) => {
    breaker.refused(pass, error)
    return unasked(context, guarded, error)
  }
  let asked: Awaitable<Asked>
  try {
    asked = reserveWhenOpen(context, guarded, fingerprint)
  } catch (error) {
    return refused(error)
  }
  // A run that has begun is counted as under way by itself; what waits for the store is counted here.
  return isPromise(asked) ? background.track(asked.then(heard, refused)) : heard(asked)
}

/** The same where the request is one transaction: what may run has run when the store has judged. */
async function judgeWhole<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  waited: Waited,
): Promise<Outcome> {
  const askedAt = context.clock.elapsed()
  try {
    const asked = await context.breaker.through(async () => {
      await openedInTime(context)
      return single(context, guarded, fingerprint)
    })
    return asked.kind === 'ended'
      ? asked.outcome
      : act(context, guarded, fingerprint, { verdict: asked.verdict, askedAt }, waited)
  } catch (error) {
    return unasked(context, guarded, error)
  }
}

/** What comes of it that the store said nothing. */
function unasked<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, error: unknown): Awaitable<Outcome> {
  if (context.background.ended.isStopped) return { kind: 'refused', error: new HapaxError('engine_closed') }
  // A busy store, a schema that does not fit or a recipe nobody knows is no outage: those never fail open.
  const isOutage = isHapaxError(error, 'idempotency_store_unavailable')
  if (guarded.policy.failOpen && isOutage) return runUnprotected(context, guarded)
  tellUnasked(context, guarded, error)
  return refusal(error)
}

/** Who was turned away was told by the store what he needed to know; everybody else should not have been. */
function tellUnasked<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>, error: unknown): void {
  if (!isHapaxError(error) || error.code === 'claim_lost') return
  if (error.fault !== 'store' && error.fault !== 'operator') return
  events.emit('reservation_failed', (detail) => ({ ...subjectOf(guarded, detail), errorCode: error.code }))
}

function reserveWhenOpen<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, fingerprint: Fingerprint): Awaitable<Asked> {
  if (context.opening.isOpen()) return reserve(context, guarded, fingerprint)
  return openedInTime(context).then(() => reserve(context, guarded, fingerprint))
}

function act<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  { verdict, askedAt }: Asked,
  waited: Waited,
): Awaitable<Outcome> {
  const { events } = context
  switch (verdict.kind) {
    case 'reserved':
    case 'resumed':
      return runClaimed(context, guarded, verdict, askedAt)
    case 'completed':
      keep(context, guarded, verdict, askedAt)
      return replayed(context, guarded, verdict.answer, verdict.record, 'store')
    case 'in_progress':
      return meetInProgress(context, guarded, verdict.leaseLeftMs, waited).then(
        (outcome) => outcome ?? judge(context, guarded, fingerprint, { ...waited, attempt: waited.attempt + 1 }),
      )
    case 'unknown': {
      if (verdict.swept) events.emit('swept', () => subjectOf(guarded))
      events.emit('met_unknown', (detail) => subjectOf(guarded, detail))
      void context.background.track(consult(context, guarded))
      return { kind: 'refused', error: unknownOutcome({ retryAfterMs: unknownRetryMs(verdict.reconcileInMs) }) }
    }
    case 'mismatched':
      return mismatched(context, guarded)
    case 'expired':
      events.emit('refused_expired', () => ({ ...subjectOf(guarded), generation: verdict.generation }))
      return {
        kind: 'refused',
        error: new HapaxError(
          'idempotency_key_expired',
          'This key was used before and its answer is gone; send a new key for a new request.',
        ),
      }
  }
}

/** What the store has said is not asked for again at once. */
function keep<Tx>(
  { cache }: Context<Tx>,
  { minted }: Guarded<Tx>,
  { answer, record, expiresInMs = Number.POSITIVE_INFINITY }: Completed,
  askedAt: number,
): void {
  if (cache === undefined || minted === true) return
  const { scope, key, generation, operation, fingerprint, answerVersion, expiresAt, trace } = record
  const kept = { scope, key, generation, operation, fingerprint, answer, answerVersion, expiresAt, trace }
  cache.keep(kept, { askedAt, until: askedAt + expiresInMs })
}

function replayed<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  answer: StoredAnswer,
  record: Replayable,
  from: Source,
): Awaitable<Outcome> {
  const refused = refusedReplay(context, guarded, answer)
  if (isPromise(refused)) return refused.then((refused) => refused ?? given(context, guarded, record, from))
  return refused ?? given(context, guarded, record, from)
}

function given<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>, record: Replayable, from: Source): Outcome {
  events.emit('replayed', (detail) => replayedEvent(guarded, from, detail))
  return replay(guarded.policy, record)
}

type Completed = Extract<Judged, { readonly kind: 'completed' }>
type Source = Events['replayed']['from']

function mismatched<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>): Outcome {
  events.emit('mismatched', (detail) => subjectOf(guarded, detail))
  const message = 'Send exactly the first request again to retry it, or a new key for a new request.'
  return { kind: 'refused', error: new HapaxError('idempotency_key_reused_with_different_payload', message) }
}
