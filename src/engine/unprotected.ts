import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { Stopping } from '../kernel/stopping.js'
import { type Context, subjectOf } from './context.js'
import type { Guarded } from './guarded.js'
import { kept } from './held-work.js'
import type { Outcome } from './outcome.js'
import { started } from './record.js'
import type { Scope } from './scope.js'
import type { Work } from './work.js'

/**
 * Runs a handler that nothing guards, because its policy fails open and the store is down. Duplicates run too, and
 * no answer is kept; each time is counted and logged.
 */
export async function runUnprotected<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Promise<Outcome> {
  const { clock, log, events, background } = context
  const { policy } = guarded
  log({ level: 'error', code: 'ran_unprotected', message: `the store is down and policy "${policy.name}" fails open.` })
  events.emit('ran_unprotected', () => subjectOf(guarded))
  const stopping = new Stopping()
  const unlisten = background.ended.onStop(() => stopping.stop(new HapaxError('engine_closed')))
  const late = () => new HapaxError('answer_not_stored', 'The handler runs without protection, longer than allowed.')
  try {
    const running = background.track((async () => guarded.handler(emptyWork(stopping, storeDown, guarded.scope)))())
    const answer = await guarded.toAnswer(await within(clock, policy.maxRunMs, running, late))
    return {
      kind: 'answered',
      answer: kept(answer),
      stored: false,
      replayed: false,
      generation: 0,
      expiresAt: undefined,
    }
  } catch (error) {
    stopping.stop(error instanceof Error ? error : undefined)
    return { kind: 'threw', error }
  } finally {
    unlisten()
  }
}

/** There is no record: generation 0, and nothing to commit with. Where nothing is guarded, nobody was asked whose it is. */
export function emptyWork<Tx>(stopping: Stopping, why: () => HapaxError, scope?: Scope): Work<Tx> {
  return {
    get scope() {
      if (scope === undefined) throw why()
      return scope
    },
    generation: 0,
    attempt: 0,
    recoveryPoint: started,
    get signal() {
      return stopping.signal
    },
    doubt() {},
    transaction: () => Promise.reject(why()),
    call: () => Promise.reject(why()),
    commit: () => Promise.reject(why()),
    extend: () => Promise.reject(why()),
    effect() {
      throw why()
    },
    downstreamKey: () => Promise.reject(why()),
    childKey() {
      throw why()
    },
  }
}

function storeDown(): HapaxError {
  return new HapaxError('idempotency_store_unavailable', 'The store is down; nothing can be committed with the record.')
}
