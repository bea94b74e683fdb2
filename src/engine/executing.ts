import { backoffMs } from '../kernel/backoff.js'
import { sleep, within } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { backoffs, defaults } from '../kernel/limits.js'
import { type Context, subjectOf } from './context.js'
import type { Fingerprint } from './fingerprint.js'
import type { Guarded } from './guarded.js'
import type { Answered, Outcome } from './outcome.js'
import type { StoredRecord } from './record.js'
import { type Comparable, reserve } from './reserving.js'
import { runClaimed } from './running.js'
import { runUnprotected } from './unprotected.js'

/**
 * One guarded request, from its key to its outcome. Nothing runs without a durable reservation, and what the store
 * says about the key decides everything else.
 */
export async function execute<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Promise<Outcome> {
  const { clock, flights } = context
  const { scope, key, policy, source } = guarded
  const fingerprint = policy.fingerprinter.of(source)
  const flightName = `${scope}\n${key}\n${fingerprint}`
  const deadline = clock.elapsed() + policy.waitMs
  if (policy.concurrency === 'wait') {
    const shared = await sharedOutcome(context, guarded, flights.find(flightName))
    if (shared !== undefined) return shared
  }
  const flight = judge(context, guarded, fingerprint, deadline)
  flights.announce(flightName, flight)
  return flight
}

/** The result of the one that runs in this process, unless it ended in nothing that can be shared. */
async function sharedOutcome<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  flight: Promise<Outcome> | undefined,
): Promise<Outcome | undefined> {
  if (flight === undefined) return undefined
  const { clock, flights, events } = context
  const late = () => inProgress(defaults.inProgressRetryAfterMs)
  const outcome = await flights
    .waiting(() => within(clock, guarded.policy.waitMs, flight, late))
    .catch((error: unknown) => {
      if (isHapaxError(error)) return { kind: 'refused', error } as const
      throw error
    })
  if (outcome.kind === 'refused' && outcome.error.code === 'waiting_room_full') return outcome
  if (outcome.kind === 'refused' && outcome.error.code === 'idempotency_key_in_progress') return outcome
  if (outcome.kind !== 'answered' || !outcome.stored) return undefined
  events.emit('shared', () => subjectOf(guarded))
  return { ...outcome, replayed: true }
}

async function judge<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  fingerprint: Fingerprint,
  deadline: number,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    let verdict: Comparable
    try {
      verdict = await reserve(context, guarded, fingerprint)
    } catch (error) {
      if (!isHapaxError(error)) throw error
      if (guarded.policy.failOpen && error.fault === 'store') return runUnprotected(context, guarded)
      return { kind: 'refused', error }
    }
    if (verdict.kind !== 'in_progress') return act(context, guarded, verdict)
    const outcome = await meetInProgress(context, guarded, verdict.leaseLeftMs, attempt, deadline)
    if (outcome !== undefined) return outcome
  }
}

async function act<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  verdict: Exclude<Comparable, { kind: 'in_progress' }>,
): Promise<Outcome> {
  const { events } = context
  const subject = () => subjectOf(guarded)
  switch (verdict.kind) {
    case 'reserved': {
      const { generation, fence } = verdict.claim
      events.emit('reserved', () => ({ ...subject(), generation, fence }))
      if (generation > 1) events.emit('reused_after_expiry', () => ({ ...subject(), generation }))
      return runClaimed(context, guarded, verdict.claim, verdict.record)
    }
    case 'resumed': {
      const { attempt, fence, recoveryPoint } = verdict.record
      events.emit('resumed', () => ({ ...subject(), attempt, fence, recoveryPoint }))
      return runClaimed(context, guarded, verdict.claim, verdict.record)
    }
    case 'completed':
      events.emit('replayed', subject)
      return replay(guarded, verdict.record)
    case 'unknown': {
      events.emit('met_unknown', subject)
      const retryAfterMs = Math.max(verdict.reconcileInMs, defaults.unknownRetryAfterMs)
      return { kind: 'refused', error: new HapaxError('outcome_unknown', undefined, { retryAfterMs }) }
    }
    case 'mismatched':
      events.emit('mismatched', subject)
      return { kind: 'refused', error: new HapaxError('idempotency_key_reused_with_different_payload') }
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

/** What a duplicate gets while the first still runs. `undefined`: it has waited a little, ask the store again. */
async function meetInProgress<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  leaseLeftMs: number,
  attempt: number,
  deadline: number,
): Promise<Outcome | undefined> {
  const { clock, chance, events, flights, background } = context
  const retryAfterMs = Math.min(leaseLeftMs, defaults.inProgressRetryAfterMs)
  const met = (reply: 'refused' | 'accepted' | 'waits') =>
    events.emit('met_in_progress', () => ({ ...subjectOf(guarded), reply }))
  const leftMs = deadline - clock.elapsed()
  switch (guarded.policy.concurrency) {
    case 'accept':
      met('accepted')
      return { kind: 'accepted', retryAfterMs }
    case 'wait': {
      if (leftMs <= 0 || background.ended.aborted) break
      if (attempt === 1) met('waits')
      const pauseMs = Math.min(leftMs, backoffMs(backoffs.waiting, attempt, chance))
      try {
        await flights.waiting(() => sleep(clock, pauseMs, background.ended))
      } catch (error) {
        if (isHapaxError(error)) return { kind: 'refused', error }
        throw error
      }
      return undefined
    }
    case 'reject':
      break
  }
  met('refused')
  return { kind: 'refused', error: inProgress(retryAfterMs) }
}

function replay<Tx>({ policy }: Guarded<Tx>, record: StoredRecord): Answered {
  const { answer: stored, answerVersion = policy.answerVersion, generation, expiresAt } = record
  if (stored === undefined) throw new Error('unreachable: the verdict was completed')
  const upgrade = stored.kind === 'kept' && answerVersion < policy.answerVersion ? policy.upgradeAnswer : undefined
  const answer =
    stored.kind === 'kept' && upgrade !== undefined
      ? ({ kind: 'kept', ...upgrade(stored, answerVersion) } as const)
      : stored
  return { kind: 'answered', answer, stored: true, replayed: true, generation, expiresAt }
}

function inProgress(retryAfterMs: number): HapaxError {
  return new HapaxError('idempotency_key_in_progress', undefined, { retryAfterMs })
}
