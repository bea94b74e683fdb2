import type { Happened } from './audit-chain.js'
import type { LookDeed, RecordDeed, Refusal, ResolveDeed, Supplied } from './audit-store.js'
import type { CallMark } from './call-store.js'
import { digestHex } from './digest.js'
import type { StoredEffect } from './effect-store.js'
import * as effectTransitions from './effect-transitions.js'
import type { StoredRecord } from './record.js'
import { effectStanding, recordStanding } from './standing.js'
import * as transitions from './transitions.js'

/**
 * What a person's deed does to a record, as a pure function of the record and the store's time: the next record and what is
 * written down about it, or why not.
 */
export type Enacted =
  | {
      readonly kind: 'done'
      readonly next: StoredRecord
      readonly call: CallMark | undefined
      readonly happened: Happened
    }
  | RefusedDeed

interface RefusedDeed {
  readonly kind: 'refused'
  readonly why: Refusal
  readonly state?: string
  readonly retryAfterMs?: number
}

/** `effects` says whether some of the record's are not final yet. */
export function enact(
  current: StoredRecord | undefined,
  deed: RecordDeed,
  now: number,
  effects: 'final' | 'open',
): Enacted {
  if (current === undefined) return { kind: 'refused', why: 'absent' }
  const refused = (why: Refusal) => ({ kind: 'refused', why, state: current.state }) as const
  const done = (next: StoredRecord | undefined, call?: CallMark, supplied?: Supplied): Enacted => {
    if (next === undefined) return refused('changed')
    const { scope } = current
    const subject = subjectOfRecord(current)
    const after = { ...recordStanding(next), supplied }
    const happened = { action: deed.kind, scope, subject, before: recordStanding(current), after }
    return { kind: 'done', next, call, happened }
  }
  switch (deed.kind) {
    case 'settle': {
      if (current.state !== 'unknown') return refused('state')
      const waitMs = (deed.notBefore ?? now) - now
      if (waitMs > 0) return { ...refused('too_early'), retryAfterMs: waitMs }
      return done(transitions.settle(current, deed.settlement, now), deed.settlement.call, deed.supplied)
    }
    case 'reconcile':
      if (current.state !== 'unknown') return refused('state')
      return done(transitions.postpone(current, deed.plan, now))
    case 'purge':
      if (current.state !== 'completed') return refused('state')
      if (current.generation !== deed.generation) return refused('changed')
      return effects === 'open' ? refused('effects_open') : done(transitions.purge(current, now))
  }
}

/** The same of a doubt about an effect. */
export type Resolved = { readonly kind: 'done'; readonly next: StoredEffect; readonly happened: Happened } | RefusedDeed

export function enactResolve(current: StoredEffect | undefined, deed: ResolveDeed, now: number): Resolved {
  if (current === undefined) return { kind: 'refused', why: 'absent' }
  const { state } = current
  if (state !== 'unknown') return { kind: 'refused', why: 'state', state }
  const waitMs = (deed.notBefore ?? now) - now
  if (waitMs > 0) return { kind: 'refused', why: 'too_early', state, retryAfterMs: waitMs }
  const next = effectTransitions.resolve(current, deed.claim, deed.evidence, now)
  if (next === undefined) return { kind: 'refused', why: 'changed', state }
  const { says, by, why } = deed.said
  const after = { ...effectStanding(next), evidence: { says, by, why }, supplied: deed.supplied }
  const { scope, id } = current
  const happened = { scope, subject: subjectOfEffect(id), before: effectStanding(current), after }
  return { kind: 'done', next, happened: { action: 'settle', ...happened } }
}

/** Its looks are not counted: whoever looks says how it went. */
export function enactLook(current: StoredEffect | undefined, deed: LookDeed, now: number): Resolved {
  if (current === undefined) return { kind: 'refused', why: 'absent' }
  const { state, scope, id, looks } = current
  if (state !== 'unknown') return { kind: 'refused', why: 'state', state }
  const next = effectTransitions.postpone(current, deed.claim, { looks, afterMs: deed.holdMs }, now)
  if (next === undefined) return { kind: 'refused', why: 'changed', state }
  const happened = { scope, subject: subjectOfEffect(id), before: effectStanding(current), after: effectStanding(next) }
  return { kind: 'done', next, happened: { action: 'reconcile', ...happened } }
}

export function subjectOfRecord(record: Pick<StoredRecord, 'scope' | 'key'>): string {
  return `record:${digestHex(record)}`
}

export function subjectOfEffect(id: number): string {
  return `effect:${id}`
}

/** What a deed on an effect did. */
export function happenedTo(
  action: 'redrive' | 'discard',
  before: StoredEffect | undefined,
  after: StoredEffect,
): Happened {
  const subject = subjectOfEffect(after.id)
  return { action, scope: after.scope, subject, before: before && effectStanding(before), after: effectStanding(after) }
}
