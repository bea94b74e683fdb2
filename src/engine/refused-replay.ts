import type { Awaitable } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import { type Context, subjectOf } from './context.js'
import type { Guarded } from './guarded.js'
import { overLimit } from './limiter.js'
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
  const isAsked = context.replays !== undefined || guarded.authorizeReplay !== undefined
  return isAsked ? asked(context, guarded, answer) : undefined
}

async function asked<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  answer: StoredAnswer,
): Promise<Outcome | undefined> {
  const { replays, events, clock } = context
  const refused = (error: HapaxError): Outcome => {
    events.emit('replay_refused', () => ({ ...subjectOf(guarded), errorCode: error.code }))
    return { kind: 'refused', error }
  }
  try {
    const retryAfterMs = replays && (await overLimit(replays, `replays ${subjectOf(guarded).record}`, clock))
    if (retryAfterMs !== undefined) return refused(tooOften(retryAfterMs))
    const mayPass = guarded.authorizeReplay === undefined || (await guarded.authorizeReplay(answer))
    return mayPass ? undefined : refused(new HapaxError('replay_forbidden'))
  } catch (error) {
    return refusal(error)
  }
}

function tooOften(retryAfterMs: number): HapaxError {
  const message = 'A key is for retries, not for asking how things stand: look at the resource itself.'
  return new HapaxError('rate_exceeded', message, { retryAfterMs })
}
