import { backoffMs } from '../kernel/backoff.js'
import { sleep, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { backoffs, defaults } from '../kernel/limits.js'
import { type Context, subjectOf } from './context.js'
import type { Guarded } from './guarded.js'
import { type Outcome, refusal } from './outcome.js'
import { refusedReplay } from './refused-replay.js'

/**
 * What a duplicate gets while the first still runs: a refusal, an acceptance, or, where it may wait, the result.
 * It waits without holding a connection, for a bounded time, as one of a bounded number.
 */

/** The result of the one that runs in this process, unless that ended in nothing that can be shared. */
export async function sharedOutcome<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  flight: Promise<Outcome>,
  deadline: number,
): Promise<Outcome | undefined> {
  const { clock, flights, events } = context
  const late = () => inProgress(defaults.inProgressRetryAfterMs)
  let outcome: Outcome
  try {
    outcome = await flights.waiting(() => within(clock, Math.max(0, deadline - clock.elapsed()), flight, late))
  } catch (error) {
    return refusal(error)
  }
  if (outcome.kind !== 'answered' || !outcome.stored) return undefined
  const refused = await refusedReplay(context, guarded, outcome.answer)
  if (refused !== undefined) return refused
  events.emit('shared', (detail) => subjectOf(guarded, detail))
  return { ...outcome, replayed: true }
}

/** How often a duplicate has asked, and when it has waited enough, on the monotonic clock. */
export interface Waited {
  readonly attempt: number
  readonly deadline: number
}

/** What to tell a duplicate of a request that runs elsewhere. `undefined`: it has waited a little, ask the store again. */
export async function meetInProgress<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  leaseLeftMs: number,
  { attempt, deadline }: Waited,
): Promise<Outcome | undefined> {
  const { clock, chance, events, flights, background } = context
  const retryAfterMs = Math.min(leaseLeftMs, defaults.inProgressRetryAfterMs)
  const tell = (reply: 'refused' | 'accepted' | 'waits') =>
    events.emit('met_in_progress', (detail) => ({ ...subjectOf(guarded, detail), reply }))
  const leftMs = deadline - clock.elapsed()
  switch (guarded.policy.concurrency) {
    case 'accept':
      tell('accepted')
      return { kind: 'accepted', retryAfterMs }
    case 'wait': {
      if (leftMs <= 0 || background.ended.isStopped) break
      if (attempt === 1) tell('waits')
      const pauseMs = Math.min(leftMs, backoffMs(backoffs.waiting, attempt, chance))
      return flights.waiting(() => sleep(clock, pauseMs, background.ended)).then(() => undefined, refusal)
    }
    case 'reject':
      break
  }
  tell('refused')
  return { kind: 'refused', error: inProgress(retryAfterMs) }
}

function inProgress(retryAfterMs: number): HapaxError {
  return new HapaxError('idempotency_key_in_progress', 'Wait, then send the same request with the same key again.', {
    retryAfterMs,
  })
}
