import { backoffMs } from '../kernel/backoff.js'
import { sleep, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { backoffs } from '../kernel/limits.js'
import { consult } from './believing.js'
import type { Testimony } from './inbox-store.js'
import type { Ground } from './phases.js'
import { jsonified } from './plain.js'
import type { OpenCall } from './progress.js'

/**
 * What a call gave when its holder could not write it down any more: the claim was lost, or the time of the call was over.
 * It is evidence like any other, by the key of the call and in whatever state the record is, so that a doubt about the
 * call is settled at once.
 */
export function keepResult<Tx>(ground: Ground<Tx>, open: OpenCall, result: unknown): void {
  const testimony = testimonyOf(ground, open, result)
  if (testimony !== undefined) void ground.context.background.track(testified(ground, testimony))
}

/** The same of a call that is not waited for any more. That it returned nothing may only mean that it was given up. */
export function keepLate<Tx>(ground: Ground<Tx>, open: OpenCall, answer: Promise<unknown>): void {
  answer.then(
    (value) => {
      if (value !== undefined) keepResult(ground, open, value)
    },
    () => {},
  )
}

/** What cannot be kept is no evidence: the call stays in doubt. */
function testimonyOf<Tx>({ context, claim }: Ground<Tx>, open: OpenCall, value: unknown): Testimony | undefined {
  try {
    const result = context.progress.sealed(jsonified(value, `result of call "${open.name}"`), claim)
    return { downstreamKey: open.key, says: 'landed', result, by: 'holder', why: 'the call answered too late' }
  } catch {
    return undefined
  }
}

/** A store that fails is asked again for as long as a handler may run. */
async function testified<Tx>({ context, guarded, claim }: Ground<Tx>, testimony: Testimony): Promise<void> {
  const { clock, chance, background, storeTimeoutMs, wholeStore } = context
  const { calls } = wholeStore
  if (calls === undefined) return
  const until = clock.elapsed() + guarded.policy.maxRunMs
  for (let attempt = 1; ; attempt++) {
    try {
      const late = () => new HapaxError('idempotency_store_unavailable')
      await within(clock, storeTimeoutMs, calls.testify(testimony), late)
      return await consult(context, claim)
    } catch {
      if (clock.elapsed() >= until || background.ended.isStopped) return
      await sleep(clock, backoffMs(backoffs.storing, attempt, chance), background.ended)
    }
  }
}
