import { type Awaitable, isPromise } from '../kernel/awaitable.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { consult } from './believing.js'
import { type Context, subjectOf } from './context.js'
import { meetInProgress, sharedOutcome, type Waited } from './duplicates.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import { openedInTime } from './opened.js'
import { type Outcome, refusal, unknownOutcome, unknownRetryMs } from './outcome.js'
import type { StoredRecord } from './record.js'
import { refusedReplay } from './refused-replay.js'
import { replay } from './replay.js'
import { type Asked, reserve } from './reserving.js'
import { runClaimed } from './running.js'
import { single } from './single.js'
import { runUnprotected } from './unprotected.js'
import type { Judged } from './verdict.js'

/**
 * One guarded request, from its key to its outcome. Nothing runs without a durable reservation, and what the store
 * says about the key decides everything else.
 */
export function execute<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Awaitable<Outcome> {
  const { policy, source } = guarded
  const deadline = context.clock.elapsed() + policy.waitMs
  let fingerprint: Fingerprint
  try {
    fingerprint = policy.fingerprinter.of(source)
  } catch (error) {
    return refusal(error)
  }
  if (policy.concurrency === 'wait')
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
  let asked: Awaitable<Asked>
  try {
    asked = context.breaker.through(() => reserveWhenOpen(context, guarded, fingerprint))
  } catch (error) {
    return unasked(context, guarded, error)
  }
  if (!isPromise(asked)) return act(context, guarded, fingerprint, asked, waited)
  // A run that has begun is counted as under way by itself; what waits for the store is counted here.
  return context.background.track(
    asked.then(
      (asked) => act(context, guarded, fingerprint, asked, waited),
      (error: unknown) => unasked(context, guarded, error),
    ),
  )
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
  return guarded.policy.failOpen && isOutage ? runUnprotected(context, guarded) : refusal(error)
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
      return replayed(context, guarded, verdict)
    case 'in_progress':
      return meetInProgress(context, guarded, verdict.leaseLeftMs, waited).then(
        (outcome) => outcome ?? judge(context, guarded, fingerprint, { ...waited, attempt: waited.attempt + 1 }),
      )
    case 'unknown': {
      if (verdict.swept) events.emit('swept', () => subjectOf(guarded))
      events.emit('met_unknown', () => subjectOf(guarded))
      void context.background.track(consult(context, guarded))
      return { kind: 'refused', error: unknownOutcome({ retryAfterMs: unknownRetryMs(verdict.reconcileInMs) }) }
    }
    case 'mismatched':
      events.emit('mismatched', () => subjectOf(guarded))
      return { kind: 'refused', error: mismatch() }
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

function replayed<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, { answer, record }: Completed): Awaitable<Outcome> {
  const refused = refusedReplay(context, guarded, answer)
  if (isPromise(refused)) return refused.then((refused) => refused ?? given(context, guarded, record))
  return refused ?? given(context, guarded, record)
}

function given<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>, record: StoredRecord): Outcome {
  events.emit('replayed', () => subjectOf(guarded))
  return replay(guarded.policy, record)
}

type Completed = Extract<Judged, { readonly kind: 'completed' }>

function mismatch(): HapaxError {
  return new HapaxError(
    'idempotency_key_reused_with_different_payload',
    'Send exactly the first request again to retry it, or a new key for a new request.',
  )
}
