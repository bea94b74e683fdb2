import type { EffectKind } from '../engine/effect-definition.js'
import type { EffectOutcome, StoredEffect } from '../engine/effect-store.js'
import { codeOf } from '../engine/name.js'
import type { CallFailure } from '../engine/work.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import { defaults, effectBounds } from '../kernel/limits.js'

/** How old an effect is on the store's clock, as far as this side can tell: never younger than it is. */
export interface Age {
  readonly sinceCreatedMs: number
  readonly sinceFirstStartedMs: number
  /** Somebody had it before this claim, and may have called; evidence that nothing landed has that counted anew. */
  readonly isClaimedBefore: boolean
}

/** What failed: the call, in one of three ways, or what follows from it once its result is durable. */
export type Failure = { readonly of: CallFailure | 'apply'; readonly errorCode: string }

/**
 * The rule of what follows from a failure. What was answered is answered for good. What was not sent, or is protected by
 * its key, or only has to be applied, is tried again, within bounds. Everything else is a doubt, and so is what its key
 * protected until the bounds were reached: only evidence says whether it was done. That the last attempt was not sent says
 * nothing about those before it.
 */
export function afterFailure(
  effect: StoredEffect,
  kind: EffectKind,
  failure: Failure,
  age: Age,
  chance: Chance,
): EffectOutcome {
  const { errorCode } = failure
  if (failure.of === 'answered') return { kind: 'dead', errorCode }
  const attempt = effect.finished + 1
  const dueInMs = backoffMs(kind.backoff, attempt, chance)
  const isOver = attempt >= kind.attempts || age.sinceCreatedMs + dueInMs > kind.withinMs
  const again = { kind: 'retry', dueInMs, errorCode } as const
  if (failure.of === 'apply') return isOver ? { kind: 'dead', errorCode } : again
  if (failure.of === 'not_sent') return isOver ? ended(kind, age, errorCode) : again
  const mayRepeat = !isOver && !isForgotten(kind, age.sinceFirstStartedMs + dueInMs)
  return mayRepeat ? again : doubted(errorCode)
}

/** What must not be called at all, whatever it was claimed for. */
export function beforeCall(effect: StoredEffect, kind: EffectKind, age: Age): EffectOutcome | undefined {
  // A doubt that ended in "not landed" is tried again, but not for ever.
  if (effect.finished >= kind.attempts) return ended(kind, age, effect.errorCode ?? 'exhausted')
  const mayBeKnown = kind.honoursKeyMs !== undefined
  if (mayBeKnown && isForgotten(kind, age.sinceFirstStartedMs)) return doubted('key_forgotten')
  return undefined
}

/**
 * One that ends its worker each time is started again and again, and never finished. Where nothing was called, most claims
 * that were not settled are replies that a store lost: it takes many to hold them against the effect.
 */
export function isPoison(effect: StoredEffect, kind: EffectKind): boolean {
  const mayEndWorkers = kind.honoursKeyMs !== undefined || effect.result !== undefined || effect.errorCode === leaseOver
  return unsettled(effect) >= (mayEndWorkers ? effectBounds.poison : effectBounds.uncalled)
}

/** What the store says of a call that began, and whose worker was not heard of again. */
const leaseOver = 'in_progress_lock_expired'

/** How many claims before this one were never settled. */
export function unsettled({ started, finished }: StoredEffect): number {
  return started - 1 - finished
}

/** Somebody had it before this claim: it failed, was swept or redriven, which leaves an error, or was left to its lease. */
export function isStartedBefore({ started, errorCode }: StoredEffect): boolean {
  return started > 1 || errorCode !== undefined
}

/** A provider that honours no keys has forgotten them from the beginning. */
export function isForgotten({ honoursKeyMs, timeoutMs }: EffectKind, sinceFirstStartedMs: number): boolean {
  return honoursKeyMs === undefined || sinceFirstStartedMs + timeoutMs > honoursKeyMs - effectBounds.keyMarginMs
}

/** Every doubt is looked at once: somebody may have said already how it ended, also where nobody can be asked. */
export function doubted(errorCode: string): EffectOutcome {
  return { kind: 'unknown', reconcileAfterMs: defaults.reconcileAfterMs, errorCode }
}

/** What is not tried any more, though nothing was sent this time: dead, unless a claim before this one may have called. */
export function ended(kind: EffectKind, age: Age, errorCode: string): EffectOutcome {
  // Where keys are not honoured, a call that began is in doubt until evidence says that it did not land.
  const mayHaveLanded = kind.honoursKeyMs !== undefined && age.isClaimedBefore
  return mayHaveLanded ? doubted(errorCode) : { kind: 'dead', errorCode }
}

/** What an error of a call means; a judge that fails leaves it in doubt. */
export function failureOf(kind: EffectKind, error: unknown): Failure {
  const errorCode = codeOf(error)
  try {
    const said = kind.classify(error)
    if (said === 'answered' || said === 'not_sent') return { of: said, errorCode }
  } catch {
    // As if it had not been asked.
  }
  return { of: 'doubt', errorCode }
}
