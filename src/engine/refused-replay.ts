import type { Awaitable } from '../kernel/awaitable.js'
import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { type Context, subjectOf } from './context.js'
import type { Guarded } from './guarded.js'
import { type Limiter, overLimit } from './limiter.js'
import { type Outcome, refusal } from './outcome.js'
import type { StoredAnswer } from './record.js'

/**
 * Why a stored answer is not given to this caller: it was asked for too often, or he may not see it any more. Nothing
 * about the record changes. `undefined` when he gets it.
 */
export function refusedReplay<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  answer: StoredAnswer,
): Awaitable<Outcome | undefined> {
  const isAsked = rateOf(context, guarded) !== undefined || guarded.authorizeReplay !== undefined
  return isAsked ? asked(context, guarded, answer) : undefined
}

async function asked<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  answer: StoredAnswer,
): Promise<Outcome | undefined> {
  const { events, clock, storeTimeoutMs } = context
  const replays = rateOf(context, guarded)
  const refused = (error: HapaxError): Outcome => {
    events.emit('replay_refused', () => ({ ...subjectOf(guarded), errorCode: error.code }))
    return { kind: 'refused', error }
  }
  try {
    const name = `replays ${subjectOf(guarded).record}`
    const retryAfterMs = replays && (await overLimit(replays, name, clock, storeTimeoutMs))
    if (retryAfterMs !== undefined) return refused(tooOften(retryAfterMs))
    return (await mayPass(context, guarded, answer)) ? undefined : refused(new HapaxError('replay_forbidden'))
  } catch (error) {
    return refusal(error)
  }
}

function rateOf<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Limiter | undefined {
  return guarded.replays ?? context.replays
}

/** Whoever decides has as long as a step of the store: a retry that waits for ever is no better than one that is lost. */
async function mayPass<Tx>(
  { clock, storeTimeoutMs }: Context<Tx>,
  { authorizeReplay }: Guarded<Tx>,
  answer: StoredAnswer,
): Promise<boolean> {
  if (authorizeReplay === undefined) return true
  const late = () => {
    const message = `authorizeReplay did not decide within ${storeTimeoutMs} ms; ask again with the same key.`
    return new HapaxError('replay_undecided', message, { retryAfterMs: defaults.inProgressRetryAfterMs })
  }
  return within(clock, storeTimeoutMs, Promise.resolve(authorizeReplay(answer)), late)
}

function tooOften(retryAfterMs: number): HapaxError {
  const message = 'A key is for retries, not for asking how things stand: look at the resource itself.'
  return new HapaxError('rate_exceeded', message, { retryAfterMs })
}
