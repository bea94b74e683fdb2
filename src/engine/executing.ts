import { within } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { personalShape } from '../kernel/personal.js'
import { unavailable } from './bounded-store.js'
import { type Context, subjectOf } from './context.js'
import { meetInProgress, sharedOutcome, type Waited } from './duplicates.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import { type Outcome, refusal, unknownOutcome } from './outcome.js'
import { refusedReplay } from './refused-replay.js'
import { replay } from './replay.js'
import { type Asked, reserve } from './reserving.js'
import { runClaimed } from './running.js'
import { runUnprotected } from './unprotected.js'

/**
 * One guarded request, from its key to its outcome. Nothing runs without a durable reservation, and what the store
 * says about the key decides everything else.
 */
export async function execute<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Promise<Outcome> {
  const { clock, flights } = context
  const { scope, key, policy, source } = guarded
  const deadline = clock.elapsed() + policy.waitMs
  let fingerprint: Fingerprint
  try {
    fingerprint = policy.fingerprinter.of(source)
  } catch (error) {
    return refusal(error)
  }
  const flightName = `${scope}\n${key}\n${fingerprint}`
  while (policy.concurrency === 'wait') {
    const inTheAir = flights.find(flightName)
    if (inTheAir === undefined) break
    const shared = await sharedOutcome(context, guarded, inTheAir, deadline)
    if (shared !== undefined) return shared
  }
  const flight = judge(context, guarded, fingerprint, deadline)
  flights.announce(flightName, flight)
  return flight
}

async function judge<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  deadline: number,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    if (context.background.ended.aborted) return { kind: 'refused', error: new HapaxError('engine_closed') }
    let asked: Asked
    try {
      asked = await context.breaker.through(async () => {
        await openedInTime(context)
        return reserve(context, guarded, fingerprint)
      })
    } catch (error) {
      // A busy store, a schema that does not fit or a recipe nobody knows is no outage: those never fail open.
      if (guarded.policy.failOpen && isHapaxError(error, 'idempotency_store_unavailable')) {
        return runUnprotected(context, guarded)
      }
      return refusal(error)
    }
    const outcome = await act(context, guarded, asked, { attempt, deadline })
    if (outcome !== undefined) return outcome
  }
}

/** Opening may take long and goes on by itself; a request waits for it no longer than for any step of the store. */
export function openedInTime<Tx>({ clock, opening, storeTimeoutMs }: Context<Tx>): Promise<void> {
  const late = () => new HapaxError('idempotency_store_unavailable', 'The store is still being opened.')
  return within(clock, storeTimeoutMs, opening.open(), late).catch((error: unknown) => {
    throw unavailable('open', error)
  })
}

/** Acts on what the store said. `undefined`: a duplicate has waited a little, ask the store again. */
async function act<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  { verdict, askedAt }: Asked,
  waited: Waited,
): Promise<Outcome | undefined> {
  const { events } = context
  const subject = () => subjectOf(guarded)
  switch (verdict.kind) {
    case 'reserved': {
      const { generation, fence } = verdict.claim
      return runClaimed(context, guarded, { ...verdict, askedAt }, () => {
        events.emit('reserved', () => ({ ...subject(), generation, fence }))
        tellPersonalKey(context, guarded)
        if (generation > 1) events.emit('reused_after_expiry', () => ({ ...subject(), generation }))
      })
    }
    case 'resumed': {
      const { attempt, fence, recoveryPoint } = verdict.record
      return runClaimed(context, guarded, { ...verdict, askedAt }, () => {
        events.emit('resumed', () => ({ ...subject(), attempt, fence, recoveryPoint }))
      })
    }
    case 'completed': {
      const refused = await refusedReplay(context, guarded, verdict.answer)
      if (refused !== undefined) return refused
      events.emit('replayed', subject)
      return replay(guarded.policy, verdict.record)
    }
    case 'in_progress':
      return meetInProgress(context, guarded, verdict.leaseLeftMs, waited)
    case 'unknown': {
      events.emit('met_unknown', subject)
      const retryAfterMs = Math.max(verdict.reconcileInMs, defaults.unknownRetryAfterMs)
      return { kind: 'refused', error: unknownOutcome({ retryAfterMs }) }
    }
    case 'mismatched':
      events.emit('mismatched', subject)
      return { kind: 'refused', error: mismatch() }
    case 'expired':
      events.emit('refused_expired', () => ({ ...subject(), generation: verdict.generation }))
      return {
        kind: 'refused',
        error: new HapaxError(
          'idempotency_key_expired',
          'This key was used before and its answer is gone; send a new key for a new request.',
        ),
      }
  }
}

function tellPersonalKey<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>): void {
  const shape = personalShape(guarded.key)
  if (shape !== undefined) events.emit('key_looks_personal', () => ({ ...subjectOf(guarded), shape }))
}

function mismatch(): HapaxError {
  return new HapaxError(
    'idempotency_key_reused_with_different_payload',
    'Send exactly the first request again to retry it, or a new key for a new request.',
  )
}
