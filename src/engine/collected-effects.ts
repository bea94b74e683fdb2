import { parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { derivedKey, type Origin } from './downstream-key.js'
import type { EffectCatalogue } from './effect-catalogue.js'
import type { NewEffect } from './effect-store.js'
import { jsonText } from './plain.js'
import type { EffectOptions } from './work.js'

/** The effects that one phase asks for, until it commits. */
export interface CollectedEffects {
  add(kind: string, payload: unknown, options?: EffectOptions): void
  readonly all: readonly NewEffect[]
}

export function collectedEffects(
  origin: Origin,
  phase: string,
  { catalogue, canKeep }: { readonly catalogue: EffectCatalogue | undefined; readonly canKeep: boolean },
): CollectedEffects {
  const all: NewEffect[] = []
  return {
    all,
    add(kind, payload, { delay, order } = {}) {
      if (!canKeep)
        throw new HapaxError('transaction_unsupported', 'This store has no outbox; effects need one that does.')
      if (catalogue?.has(kind) !== true) throw unknownKind(kind, catalogue)
      if (all.length === limits.effectsPerPhase) throw tooMany(phase)
      const sequence = all.length + 1
      all.push({
        kind,
        payload: Buffer.from(jsonText(payload, `payload of effect "${kind}"`)),
        downstreamKey: derivedKey('effect', origin, phase, sequence),
        phase,
        sequence,
        order: order ?? catalogue.orderOf(kind, payload),
        dueInMs: delay === undefined ? 0 : parseDuration(delay, 'delay'),
      })
    },
  }
}

function unknownKind(kind: string, catalogue: EffectCatalogue | undefined): HapaxError {
  const advice =
    catalogue === undefined
      ? 'Give the engine its effects: engine({ store, effects: effects({ … }) }).'
      : 'Add it to effects({ … }).'
  return new HapaxError('effect_unknown', `No effect "${kind}" is defined. ${advice}`)
}

function tooMany(phase: string): HapaxError {
  const message = `Phase "${phase}" asks for more than ${limits.effectsPerPhase} effects; write one that stands for them.`
  return new HapaxError('phase_invalid', message)
}
