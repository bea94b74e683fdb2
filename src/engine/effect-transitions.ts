import { changedEffect } from './changed.js'
import {
  type EffectClaim,
  type EffectEvidence,
  type EffectOutcome,
  type EffectPlan,
  type EffectResult,
  type EffectState,
  isFinal,
  type NewEffect,
  type StoredEffect,
} from './effect-store.js'
import type { StoredRecord } from './record.js'

/**
 * What each step of the outbox does to one effect, as pure functions of the effect and the store's time: the next effect,
 * or `undefined` when the step is refused and nothing changes. Who stands behind whom in an order is for the store to see.
 */

/** An effect as it is when its phase commits. */
export function written(effect: NewEffect, record: StoredRecord, now: number, id: number): StoredEffect {
  return {
    id,
    fence: 0,
    scope: record.scope,
    recordId: record.id,
    operation: record.operation,
    generation: record.generation,
    kind: effect.kind,
    payload: effect.payload,
    downstreamKey: effect.downstreamKey,
    phase: effect.phase,
    sequence: effect.sequence,
    order: effect.order,
    state: 'ready',
    dueAt: now + effect.dueInMs,
    leaseUntil: undefined,
    onLeaseOver: 'resume',
    started: 0,
    finished: 0,
    firstStartedAt: undefined,
    providerId: undefined,
    result: undefined,
    errorCode: undefined,
    doubtedAt: undefined,
    looks: 0,
    reconcileAfter: undefined,
    createdAt: now,
    finishedAt: undefined,
  }
}

/** One that is claimed by its id need not be due. */
export function claim(
  current: StoredEffect,
  leaseMs: number,
  now: number,
  when: 'due' | 'named' = 'due',
): StoredEffect | undefined {
  if (!isClaimable(current, now, when)) return undefined
  return changedEffect(current, {
    state: 'leased',
    fence: current.fence + 1,
    leaseUntil: now + leaseMs,
    onLeaseOver: 'resume',
    started: current.started + 1,
    firstStartedAt: current.firstStartedAt ?? now,
  })
}

export function begin(
  current: StoredEffect | undefined,
  holder: EffectClaim,
  leaseMs: number,
  now: number,
): StoredEffect | undefined {
  if (!holds(current, holder)) return undefined
  return changedEffect(current, { leaseUntil: now + leaseMs, onLeaseOver: 'doubt' })
}

export function renew(
  current: StoredEffect | undefined,
  holder: EffectClaim,
  leaseMs: number,
  now: number,
): StoredEffect | undefined {
  if (!holds(current, holder)) return undefined
  return changedEffect(current, { leaseUntil: now + leaseMs })
}

export function record(
  current: StoredEffect | undefined,
  holder: EffectClaim,
  { providerId, result }: EffectResult,
): StoredEffect | undefined {
  if (!mayEnd(current, holder)) return undefined
  return changedEffect(current, { providerId, result, onLeaseOver: 'resume' })
}

/**
 * The last claim may still say that a doubt is done which nobody has resolved: it was only slow. Gives the effect as it is,
 * and not a copy, when the same claim has settled it so before.
 */
export function settle(
  current: StoredEffect | undefined,
  holder: EffectClaim,
  outcome: EffectOutcome,
  now: number,
): StoredEffect | undefined {
  if (isRepeated(current, holder, outcome)) return current
  if (!mayEnd(current, holder) || (outcome.kind !== 'done' && current.state !== 'leased')) return undefined
  const finished = Math.min(current.finished + 1, current.started)
  const settled = changedEffect(idle(current, stateAfter[outcome.kind]), { finished })
  switch (outcome.kind) {
    case 'done': {
      const { providerId, result } = outcome
      return changedEffect(settled, { providerId, result, errorCode: undefined, finishedAt: now })
    }
    case 'retry':
      return changedEffect(settled, { errorCode: outcome.errorCode, dueAt: now + outcome.dueInMs })
    case 'unknown':
      return doubted(settled, outcome.errorCode, outcome.reconcileAfterMs, now)
    case 'dead':
      return changedEffect(settled, { errorCode: outcome.errorCode })
    case 'release':
      return current.onLeaseOver === 'doubt' ? undefined : released(current, outcome.dueInMs, now)
  }
}

export function sweep(current: StoredEffect, now: number): StoredEffect | undefined {
  if (current.state !== 'leased' || current.onLeaseOver !== 'doubt' || !isLeaseOver(current, now)) return undefined
  return doubted(idle(current, 'unknown'), leaseOver, 0, now)
}

/** Takes a doubt whose time has come, and puts it off. */
export function takeDoubt(current: StoredEffect, holdMs: number, now: number): StoredEffect | undefined {
  const { state, looks, reconcileAfter } = current
  if (state !== 'unknown' || reconcileAfter === undefined || reconcileAfter > now) return undefined
  return changedEffect(current, lookedAt(looks, holdMs, now))
}

export function postpone(
  current: StoredEffect | undefined,
  seen: EffectClaim,
  { looks, afterMs, dueAt }: EffectPlan,
  now: number,
): StoredEffect | undefined {
  if (!isDoubt(current, seen) || (dueAt !== undefined && dueAt !== current.reconcileAfter)) return undefined
  return changedEffect(current, lookedAt(looks, afterMs, now))
}

export function resolve(
  current: StoredEffect | undefined,
  seen: EffectClaim,
  evidence: EffectEvidence,
  now: number,
): StoredEffect | undefined {
  if (!isDoubt(current, seen)) return undefined
  const ready = changedEffect(idle(current, 'ready'), { dueAt: now })
  if (evidence.kind === 'not_landed') {
    // What the provider itself once answered outweighs who says later that it did not land: it has seen the key.
    return current.result === undefined ? changedEffect(ready, { firstStartedAt: undefined }) : ready
  }
  return changedEffect(ready, { providerId: evidence.providerId, result: evidence.result })
}

/** The provider may remember the key from before, so that when it was first sent stays on record unless a person says otherwise. */
export function redrive(
  current: StoredEffect | undefined,
  keyMemory: 'anew' | undefined,
  now: number,
): StoredEffect | undefined {
  if (current?.state !== 'dead') return undefined
  const firstStartedAt = keyMemory === 'anew' ? undefined : current.firstStartedAt
  return changedEffect(idle(current, 'ready'), { dueAt: now, started: 0, finished: 0, firstStartedAt })
}

export function discard(current: StoredEffect | undefined, now: number): StoredEffect | undefined {
  return current?.state === 'dead' ? changedEffect(idle(current, 'discarded'), { finishedAt: now }) : undefined
}

/** What no worker touches again is kept for a while, for whoever looks back, and then goes. */
export function reap(current: StoredEffect, keepMs: number, now: number): 'deleted' | undefined {
  const { state, finishedAt = Number.POSITIVE_INFINITY } = current
  return isFinal(state) && finishedAt <= now - keepMs ? 'deleted' : undefined
}

/** The error code of a claim that nobody renewed, as with records. */
const leaseOver = 'in_progress_lock_expired'

const stateAfter = {
  done: 'done',
  retry: 'ready',
  unknown: 'unknown',
  dead: 'dead',
  release: 'ready',
} as const satisfies Readonly<Record<EffectOutcome['kind'], EffectState>>

function isClaimable(effect: StoredEffect, now: number, when: 'due' | 'named'): boolean {
  if (effect.state === 'ready') return when === 'named' || effect.dueAt <= now
  return effect.state === 'leased' && effect.onLeaseOver === 'resume' && isLeaseOver(effect, now)
}

function isLeaseOver({ leaseUntil = 0 }: StoredEffect, now: number): boolean {
  return leaseUntil <= now
}

/** The claim is the last one given, and nothing has ended it. */
function holds(current: StoredEffect | undefined, { fence }: EffectClaim): current is StoredEffect {
  return current?.state === 'leased' && current.fence === fence
}

/** The claim is the last one given, and nobody but the sweeper has ended it. */
function mayEnd(current: StoredEffect | undefined, { fence }: EffectClaim): current is StoredEffect {
  return (current?.state === 'leased' || current?.state === 'unknown') && current.fence === fence
}

/** In doubt, and nobody has claimed it since. */
function isDoubt(current: StoredEffect | undefined, seen: EffectClaim): current is StoredEffect {
  return current?.state === 'unknown' && current.fence === seen.fence
}

/** The same claim has already brought the effect to this state, for the same reason: its reply was lost. */
function isRepeated(current: StoredEffect | undefined, { fence }: EffectClaim, outcome: EffectOutcome): boolean {
  if (current?.state !== stateAfter[outcome.kind] || current.fence !== fence) return false
  return !('errorCode' in outcome) || outcome.errorCode === current.errorCode
}

/** Given back, the first claim of all never was: whoever failed, was swept or redriven since then has left an error. */
function released(current: StoredEffect, dueInMs: number | undefined, now: number): StoredEffect {
  const { started, errorCode, firstStartedAt } = current
  const isFirst = started === 1 && errorCode === undefined
  return changedEffect(idle(current, 'ready'), {
    dueAt: dueInMs === undefined ? current.dueAt : now + dueInMs,
    started: started - 1,
    firstStartedAt: isFirst ? undefined : firstStartedAt,
  })
}

/** An effect that nobody holds any more. The fence stays: it only ever rises. */
function idle(effect: StoredEffect, state: EffectState): StoredEffect {
  const [leaseUntil, doubtedAt, reconcileAfter] = [undefined, undefined, undefined]
  return changedEffect(effect, { leaseUntil, onLeaseOver: 'resume', state, doubtedAt, looks: 0, reconcileAfter })
}

function doubted(effect: StoredEffect, errorCode: string, afterMs: number | undefined, now: number): StoredEffect {
  const reconcileAfter = afterMs === undefined ? undefined : now + afterMs
  return changedEffect(effect, { errorCode, doubtedAt: now, looks: 0, reconcileAfter })
}

function lookedAt(looks: number, afterMs: number | undefined, now: number) {
  return { looks, reconcileAfter: afterMs === undefined ? undefined : now + afterMs }
}
