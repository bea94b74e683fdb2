import type { EffectAbout } from '../engine/effect-definition.js'
import type { EffectOutcome, EffectResult } from '../engine/effect-store.js'
import { codeOf } from '../engine/name.js'
import { backoffMs } from '../kernel/backoff.js'
import { type Clock, sleep, within } from '../kernel/clock.js'
import { passing } from '../kernel/crash-points.js'
import { isHapaxError } from '../kernel/errors.js'
import { backoffs, effectBounds } from '../kernel/limits.js'
import { called } from './calling.js'
import {
  type Age,
  afterFailure,
  beforeCall,
  doubted,
  ended,
  type Failure,
  isForgotten,
  isPoison,
  isStartedBefore,
} from './deciding.js'
import { judged, testified, toldToHaveLanded } from './evidence.js'
import { ageOf, type Held } from './held.js'
import type { Holding } from './holding.js'
import type { LateResults } from './late.js'
import { aboutOf, packed, unpacked } from './packed.js'
import type { Settled } from './settling.js'
import { type Surroundings, subjectOf } from './surroundings.js'

/** What became of a claim on an effect. `unwritten`: the store did not take it, and the lease runs out. */
export type Ending = EffectOutcome['kind'] | Exclude<Settled, 'written'>

export interface Carrying<Tx> extends Surroundings<Tx> {
  readonly leaseMs: number
  readonly holding: Holding
  readonly late: LateResults
  readonly timers: Pick<Clock, 'elapsed' | 'after'>
  readonly settle: (held: Held, outcome: EffectOutcome) => Promise<Settled>
}

/** Where an effect came from: found by a worker, or named by somebody to whom it was handed over. */
export type Source = 'found' | 'named'

/**
 * Carries out one effect that is leased: its call, unless the result is durable already; what follows from the result; and
 * how it ended. No transaction is open while the provider is called.
 */
export function carriedOut<Tx>(held: Held, source: Source, around: Carrying<Tx>): Promise<Ending> {
  passing('effect.leased')
  const { effect, kind } = held
  const { result, providerId } = effect
  const age = ageOf(held, around.clock.elapsed())
  if (isPoison(effect, kind)) {
    const dead = { kind: 'dead', errorCode: 'poison' } as const
    return settled(held, result === undefined ? ended(kind, age, 'poison') : dead, around)
  }
  const about = readable(held)
  if (about === undefined) return settled(held, { kind: 'dead', errorCode: 'payload_unreadable' }, around)
  if (result !== undefined) return finished(held, { result, providerId }, about, around)
  // Nobody can have said anything about one that was never started, and most are done the first time.
  const isAsked = isStartedBefore(effect) && isForgotten(kind, age.sinceFirstStartedMs)
  return isAsked ? unlessLanded(held, source, about, around) : unfinished(held, source, about, age, around)
}

/** What somebody said to have landed since it was last looked at is not called again: its provider would do it twice. */
async function unlessLanded<Tx>(
  held: Held,
  source: Source,
  about: EffectAbout<unknown>,
  around: Carrying<Tx>,
): Promise<Ending> {
  const { effect, kind } = held
  const said = await around.words.about([effect]).catch(codeOf)
  if (typeof said === 'string') return failed(held, { of: 'not_sent', errorCode: said }, around)
  const evidence = judged(around.log, () => testified(effect, kind, said, around))
  if (evidence?.kind === 'landed') {
    const { by, result, providerId } = evidence
    around.events.emit('effect_reconciled', () => ({ ...subjectOf(effect), says: 'landed', by }))
    return finished(held, { result, providerId }, about, around)
  }
  // It landed, but something follows from a result that nobody knows yet.
  if (toldToHaveLanded(effect, said) === 'landed') return settled(held, doubted('result_unknown'), around)
  return unfinished(held, source, about, ageOf(held, around.clock.elapsed()), around)
}

function unfinished<Tx>(
  held: Held,
  source: Source,
  about: EffectAbout<unknown>,
  age: Age,
  around: Carrying<Tx>,
): Promise<Ending> {
  const { effect, kind } = held
  if (kind.relay !== undefined && source === 'found') return handedOver(held, about, age, around)
  const refused = beforeCall(effect, kind, age)
  if (refused !== undefined) return settled(held, refused, around)
  return sent(held, about, around)
}

/** That the call begins is durable before its first byte leaves, unless the provider honours the key. */
async function sent<Tx>(held: Held, about: EffectAbout<unknown>, around: Carrying<Tx>): Promise<Ending> {
  const { clock, holding } = around
  const { honoursKeyMs, timeoutMs } = held.kind
  if (honoursKeyMs === undefined) {
    const refused = await begun(held, around)
    if (refused !== undefined) return refused
  }
  if (clock.elapsed() + timeoutMs > held.endsAt) await holding.renew(held)
  const call = await called(held, about, around.timers, around.late)
  if (call.kind === 'failed') return failed(held, call.failure, around)
  if (call.kind === 'withheld') return withheld(held, around)
  passing('effect.answered')
  // Awaited: an async function that gives a promise back makes two more of it, for each effect.
  return await answered(held, call.value, about, around)
}

/** Says that the call begins. Gives how the effect ended if that could not be said. */
async function begun<Tx>(held: Held, around: Carrying<Tx>): Promise<Ending | undefined> {
  const { store, clock, leaseMs } = around
  const sentAt = clock.elapsed()
  const isBegun = await store.begin(held.claim, leaseMs).catch(codeOf)
  if (isBegun === false) return lost(held, around)
  if (isBegun !== true) return failed(held, { of: 'not_sent', errorCode: isBegun }, around)
  held.endsAt = Math.max(held.endsAt, sentAt + leaseMs)
  passing('effect.begun')
  return undefined
}

/** The lease does not last as long as the call may, so that nothing was sent. */
function withheld<Tx>(held: Held, around: Carrying<Tx>): Ending | Promise<Ending> {
  if (held.isLost) return lost(held, around)
  if (held.kind.honoursKeyMs === undefined) return failed(held, { of: 'not_sent', errorCode: 'lease_short' }, around)
  return settled(held, { kind: 'release' }, around)
}

function answered<Tx>(held: Held, value: unknown, about: EffectAbout<unknown>, around: Carrying<Tx>): Promise<Ending> {
  let said: EffectResult
  try {
    said = packed(held.kind, value, around.log)
  } catch (error) {
    around.log({ level: 'error', code: 'effect_result_lost', message: (error as Error).message })
    return settled(held, doubted('result_lost'), around)
  }
  return finished(held, said, about, around)
}

function finished<Tx>(
  held: Held,
  said: EffectResult,
  about: EffectAbout<unknown>,
  around: Carrying<Tx>,
): Promise<Ending> {
  const { apply } = held.kind
  if (apply === undefined)
    return settled(held, { kind: 'done', providerId: said.providerId, result: said.result }, around)
  return applied(held, said, (tx) => apply(tx, unpacked(said.result), about), around)
}

/** What the provider said is durable before anything follows from it: no error after this leads to a second call. */
async function applied<Tx>(
  held: Held,
  said: EffectResult,
  apply: (tx: Tx) => unknown,
  around: Carrying<Tx>,
): Promise<Ending> {
  if (held.effect.result === undefined) {
    const recorded = await insisted(() => around.store.record(held.claim, said), around)
    if (recorded !== true) return recorded === false ? lost(held, around) : 'unwritten'
    passing('effect.recorded')
  }
  try {
    await around.store.apply(held.claim, said, async (tx) => {
      await apply(tx)
      passing('effect.applying')
    })
  } catch (error) {
    if (isHapaxError(error, 'claim_lost')) return lost(held, around)
    return failed(held, { of: 'apply', errorCode: codeOf(error) }, around)
  }
  passing('effect.settled')
  return told(held, { kind: 'done', ...said }, around)
}

function failed<Tx>(held: Held, failure: Failure, around: Carrying<Tx>): Promise<Ending> {
  const age = ageOf(held, around.clock.elapsed())
  return settled(held, afterFailure(held.effect, held.kind, failure, age, around.chance), around)
}

async function settled<Tx>(held: Held, outcome: EffectOutcome, around: Carrying<Tx>): Promise<Ending> {
  const written = await around.settle(held, outcome)
  if (written === 'lost') return lost(held, around)
  if (written === 'unwritten') return 'unwritten'
  passing('effect.settled')
  return told(held, outcome, around)
}

function told<Tx>({ effect }: Held, outcome: EffectOutcome, { events }: Carrying<Tx>): Ending {
  const subject = () => ({ ...subjectOf(effect), attempt: effect.started })
  switch (outcome.kind) {
    case 'done':
      events.emit('effect_done', subject)
      break
    case 'retry':
      events.emit('effect_retried', () => ({ ...subject(), errorCode: outcome.errorCode, dueInMs: outcome.dueInMs }))
      break
    case 'dead':
      events.emit('effect_dead', () => ({ ...subject(), errorCode: outcome.errorCode }))
      break
    case 'unknown':
      events.emit('effect_doubted', () => ({ ...subjectOf(effect), errorCode: outcome.errorCode }))
      break
    case 'release':
      break
  }
  return outcome.kind
}

function lost<Tx>({ effect }: Held, { events }: Carrying<Tx>): Ending {
  events.emit('effect_lost', () => ({ ...subjectOf(effect), fence: effect.fence }))
  return 'lost'
}

/**
 * The row stays the truth: it is given back first, so that whoever gets the message finds it free, and is due again when it
 * should long have been carried out. Nobody is told for ever.
 */
async function handedOver<Tx>(
  held: Held,
  about: EffectAbout<unknown>,
  age: Age,
  around: Carrying<Tx>,
): Promise<Ending> {
  const { kind, effect } = held
  if (age.sinceCreatedMs > kind.withinMs) return settled(held, ended(kind, age, 'not_carried_out'), around)
  const ending = await settled(held, { kind: 'release', dueInMs: kind.visibilityMs }, around)
  if (ending !== 'release') return ending
  const message = { effectId: effect.id, kind: kind.name, key: about.key, payload: about.payload }
  try {
    const late = () => new Error('It took too long.')
    const relayed = Promise.resolve().then(() => kind.relay?.(message))
    await within(around.clock, kind.timeoutMs, relayed, late)
  } catch (error) {
    const message = `effect "${kind.name}" could not be handed over (${codeOf(error)}); it is tried again.`
    around.log({ level: 'warn', code: 'relay_failed', message })
  }
  return ending
}

/** What has happened is worth a few tries to write it down. */
async function insisted<Tx>(step: () => Promise<boolean>, around: Carrying<Tx>): Promise<boolean | undefined> {
  const { clock, chance } = around
  for (let attempt = 1; attempt <= effectBounds.storeTries; attempt++) {
    try {
      return await step()
    } catch {
      await sleep(clock, backoffMs(backoffs.storing, attempt, chance))
    }
  }
  return undefined
}

function readable({ effect }: Held): EffectAbout<unknown> | undefined {
  try {
    return aboutOf(effect)
  } catch {
    return undefined
  }
}
