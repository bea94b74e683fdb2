import { parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { derivedKey, type Origin } from './downstream-key.js'
import type { EffectKind, Effects } from './effect-definition.js'
import type { NewEffect } from './effect-store.js'
import { jsonText } from './plain.js'
import type { Policy } from './policy.js'
import type { EffectOptions } from './work.js'

/** The effects that one phase asks for, while its body runs. */
export interface CollectedEffects {
  add(kind: string, payload: unknown, options?: EffectOptions): void
  /** All that were asked for. One that is asked for later would be lost, or commit with something else: it is refused. */
  end(): readonly NewEffect[]
}

interface Ground {
  readonly catalogue: Pick<Effects, 'kinds'> | undefined
  readonly canKeep: boolean
  /** Of the request that they belong to. */
  readonly policy: Pick<Policy, 'retentionMs' | 'tombstoneMs'>
}

export function collectedEffects(
  origin: Origin,
  phase: string,
  { catalogue, canKeep, policy }: Ground,
): CollectedEffects {
  const all: NewEffect[] = []
  let isOver = false
  return {
    end() {
      isOver = true
      return all
    },
    add(kind, payload, { delay, order } = {}) {
      if (isOver) throw tooLate(kind, phase)
      if (!canKeep)
        throw new HapaxError('transaction_unsupported', 'This store has no outbox; effects need one that does.')
      const known = catalogue?.kinds.get(kind)
      if (known === undefined) throw unknownKind(kind, catalogue)
      refuseLongMemory(known, policy)
      if (all.length === limits.effectsPerPhase) throw tooMany(phase)
      const dueInMs = delay === undefined ? 0 : parseDuration(delay, 'delay')
      refuseLateDelay(known, dueInMs)
      const sequence = all.length + 1
      all.push({
        kind,
        payload: Buffer.from(jsonText(payload, `payload of effect "${kind}"`)),
        downstreamKey: derivedKey('effect', origin, phase, sequence),
        phase,
        sequence,
        order: order ?? orderOf(known, payload),
        dueInMs,
      })
    },
  }
}

/**
 * A key that we have forgotten begins anew, with the downstream keys of its first time. An effect may be carried out up to the
 * moment in which its record is buried, so that the tombstone alone must outlive what its provider remembers.
 */
function refuseLongMemory(
  { name, honoursKeyMs = 0 }: EffectKind,
  { retentionMs, tombstoneMs }: Ground['policy'],
): void {
  if (retentionMs === undefined || honoursKeyMs <= tombstoneMs) return
  const message = `Effect "${name}": its provider remembers keys for longer than a tombstone is kept; raise tombstone in the policy.`
  throw new HapaxError('phase_invalid', message)
}

/** Tries are counted from when an effect was written: one that is due after the last of them would be given up at its first failure. */
function refuseLateDelay({ name, withinMs }: EffectKind, dueInMs: number): void {
  if (dueInMs < withinMs) return
  const message = `Effect "${name}" is put off for longer than it may be tried; raise retry.within in its definition.`
  throw new HapaxError('phase_invalid', message)
}

function orderOf({ name, orderBy }: EffectKind, payload: unknown): string | undefined {
  const order = orderBy?.(payload)
  if (order === undefined || typeof order === 'string') return order
  throw new HapaxError('policy_invalid', `Effect "${name}": orderBy gave no text; give an id, or undefined.`)
}

function tooLate(kind: string, phase: string): HapaxError {
  const message = `Phase "${phase}" is over: ask for effect "${kind}" before its body has returned or thrown, and await what asks for it.`
  return new HapaxError('effect_outside_phase', message)
}

function unknownKind(kind: string, catalogue: Pick<Effects, 'kinds'> | undefined): HapaxError {
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
