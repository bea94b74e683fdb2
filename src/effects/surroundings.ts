import type { Effects } from '../engine/effect-definition.js'
import type { EffectStore, StoredEffect } from '../engine/effect-store.js'
import { stepsInTime } from '../engine/in-time.js'
import { storeFailures } from '../engine/store-failures.js'
import { type Chance, systemChance } from '../kernel/chance.js'
import { type Clock, systemClock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { type EffectSubject, type Emitter, emitter } from '../kernel/events.js'
import { consoleLog, type Log, loggingSafely } from '../kernel/log.js'
import { type BoundedEffects, boundedEffects } from './bounded-effects.js'
import { type EffectTestimonies, type Words, wordsOf } from './words.js'

/** What whoever works on effects is given. */
export interface EffectSurroundings<Tx> {
  /** The outbox of a store: `store.effects`. */
  readonly store: EffectStore<Tx>
  /** What webhooks and people said about calls and effects: `store.calls`. It is looked at before a provider is asked. */
  readonly calls?: EffectTestimonies
  readonly effects: Effects<unknown, Tx>
  readonly clock?: Clock
  readonly chance?: Chance
  readonly log?: Log
  readonly events?: Emitter
}

/** The same, with nothing missing and every wait bounded. */
export interface Surroundings<Tx> {
  readonly store: BoundedEffects<Tx>
  readonly words: Words
  readonly effects: Effects<unknown, Tx>
  readonly clock: Clock
  readonly chance: Chance
  readonly log: Log
  readonly events: Emitter
}

export function surroundingsOf<Tx>(given: EffectSurroundings<Tx>): Surroundings<Tx> {
  const { store, calls, effects, clock = systemClock, chance = systemChance } = given
  if (effects.kinds.size === 0) throw new HapaxError('policy_invalid', 'There are no effects to work on; define some.')
  const log = loggingSafely(given.log ?? consoleLog)
  const events = given.events ?? emitter(log)
  const inTime = stepsInTime(clock, storeFailures(events, log, clock))
  return {
    store: boundedEffects(store, inTime),
    words: wordsOf(calls, inTime),
    effects,
    clock,
    chance,
    log,
    events,
  }
}

export function subjectOf({ scope, operation, phase, kind, id }: StoredEffect): EffectSubject {
  return { scope, operation, phase, kind, effect: id }
}
