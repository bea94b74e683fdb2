import { HapaxError } from '../kernel/errors.js'
import { type Context, subjectOf } from './context.js'
import type { Guarded } from './guarded.js'
import type { Outcome } from './outcome.js'
import { started } from './record.js'
import type { Work } from './work.js'

/**
 * Runs a handler that nothing guards, because its policy fails open and the store is down. Duplicates run too, and
 * no answer is kept; each time is counted and logged.
 */
export async function runUnprotected<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Promise<Outcome> {
  const message = `the store is down and policy "${guarded.policy.name}" fails open: a request ran without protection.`
  context.log({ level: 'error', code: 'ran_unprotected', message })
  context.events.emit('ran_unprotected', () => subjectOf(guarded))
  try {
    const answer = guarded.toAnswer(await guarded.handler(unprotectedWork()))
    return {
      kind: 'answered',
      answer: { kind: 'kept', ...answer },
      stored: false,
      replayed: false,
      generation: 0,
      expiresAt: undefined,
    }
  } catch (error) {
    return { kind: 'threw', error }
  }
}

/** There is no record: generation 0, a signal that never aborts, and nothing to commit with. */
function unprotectedWork<Tx>(): Work<Tx> {
  return {
    generation: 0,
    attempt: 0,
    recoveryPoint: started,
    signal: new AbortController().signal,
    doubt() {},
    commit: () =>
      Promise.reject(
        new HapaxError('idempotency_store_unavailable', 'The store is down; nothing can be committed with the record.'),
      ),
  }
}
