import { expect, test } from 'vitest'
import {
  type EffectOutcome,
  type EffectState,
  effectStates,
  type NewEffect,
  type StoredEffect,
} from '../../src/engine/effect-store.js'
import * as steps from '../../src/engine/effect-transitions.js'
import type { StoredRecord } from '../../src/engine/record.js'

/** Which step leads where, from every state: what a store that speaks SQL must say in its predicates. */

const intent: NewEffect = {
  kind: 'receipt.send',
  payload: new Uint8Array([1]),
  downstreamKey: 'down',
  phase: 'finished',
  sequence: 1,
  order: undefined,
  dueInMs: 10,
}
const ready = steps.written(intent, { id: 7, generation: 1 } as StoredRecord, 0, 1)
const leased = held(steps.claim(ready, 100, 10))
const begun = held(steps.begin(leased, leased, 100, 20))
const result = { providerId: 'p', result: new Uint8Array([2]) }
const ends = {
  done: { kind: 'done', ...result },
  retry: { kind: 'retry', dueInMs: 5, errorCode: 'busy' },
  unknown: { kind: 'unknown', reconcileAfterMs: 5, errorCode: 'timeout' },
  dead: { kind: 'dead', errorCode: 'closed' },
  release: { kind: 'release' },
} as const satisfies Record<EffectOutcome['kind'], EffectOutcome>
const dead = ended(ends.dead)

const inState: Readonly<Record<EffectState, StoredEffect>> = {
  ready,
  leased,
  done: ended(ends.done),
  unknown: ended(ends.unknown),
  dead,
  discarded: held(steps.discard(dead, 30)),
}

const table: Readonly<
  Record<string, [(effect: StoredEffect) => StoredEffect | undefined, Partial<Record<EffectState, EffectState>>]>
> = {
  claim: [(effect) => steps.claim(effect, 100, 1_000), { ready: 'leased', leased: 'leased' }],
  begin: [(effect) => steps.begin(effect, effect, 100, 50), { leased: 'leased' }],
  renew: [(effect) => steps.renew(effect, effect, 100, 50), { leased: 'leased' }],
  record: [(effect) => steps.record(effect, effect, result), { leased: 'leased', unknown: 'unknown' }],
  done: [settle(ends.done), { leased: 'done', unknown: 'done', done: 'done' }],
  retry: [settle({ ...ends.retry, errorCode: 'other' }), { leased: 'ready' }],
  unknown: [settle({ ...ends.unknown, errorCode: 'other' }), { leased: 'unknown' }],
  dead: [settle({ ...ends.dead, errorCode: 'other' }), { leased: 'dead' }],
  sweep: [(effect) => steps.sweep({ ...effect, onLeaseOver: 'doubt' }, 1_000), { leased: 'unknown' }],
  'take a doubt': [(effect) => steps.takeDoubt(effect, 100, 1_000), { unknown: 'unknown' }],
  postpone: [(effect) => steps.postpone(effect, effect, { looks: 1, afterMs: undefined }, 50), { unknown: 'unknown' }],
  resolve: [(effect) => steps.resolve(effect, effect, { kind: 'not_landed' }, 50), { unknown: 'ready' }],
  redrive: [(effect) => steps.redrive(effect, undefined, 50), { dead: 'ready' }],
  discard: [(effect) => steps.discard(effect, 50), { dead: 'discarded' }],
}

test.each(Object.entries(table))(
  '%s leads from each state where it may, and from the others nowhere',
  (_, [step, to]) => {
    for (const state of effectStates) expect([state, step(inState[state])?.state]).toEqual([state, to[state]])
  },
)

test.each(Object.values(ends))('settling as $kind twice is settling once', (outcome) => {
  const once = ended(outcome)
  expect(steps.settle(once, leased, outcome, 99)).toBe(once)
})

test('a stale fence changes nothing', () => {
  const stale = { id: 1, fence: leased.fence - 1 }
  expect(steps.begin(leased, stale, 100, 50)).toBeUndefined()
  expect(steps.renew(leased, stale, 100, 50)).toBeUndefined()
  expect(steps.record(leased, stale, result)).toBeUndefined()
  for (const outcome of Object.values(ends)) expect(steps.settle(leased, stale, outcome, 50)).toBeUndefined()
})

test('an effect given back is as if it had not been claimed, but for its fence', () => {
  expect(ended(ends.release)).toEqual({ ...ready, fence: 1 })
})

test('an effect whose call began is not given back', () => {
  expect(steps.settle(begun, begun, ends.release, 50)).toBeUndefined()
})

test('an effect that was redriven counts its attempts anew and keeps when its key was first sent', () => {
  const again = held(steps.redrive(dead, undefined, 50))
  expect(again).toMatchObject({ started: 0, finished: 0, firstStartedAt: 10, downstreamKey: 'down' })
  const given = held(steps.settle(held(steps.claim(again, 100, 60)), { id: 1, fence: 2 }, ends.release, 61))
  expect(given).toMatchObject({ started: 0, firstStartedAt: 10 })
})

test('a claim that dies is started and never finished', () => {
  const swept = held(steps.sweep(begun, 1_000))
  expect(swept).toMatchObject({ started: 1, finished: 0, doubtedAt: 1_000, reconcileAfter: 1_000 })
  expect(steps.settle(swept, leased, ends.done, 1_001)).toMatchObject({ state: 'done', finished: 1, finishedAt: 1_001 })
})

function settle(outcome: EffectOutcome) {
  return (effect: StoredEffect) => steps.settle(effect, effect, outcome, 50)
}

function ended(outcome: EffectOutcome): StoredEffect {
  return held(steps.settle(leased, leased, outcome, 30))
}

function held(effect: StoredEffect | undefined): StoredEffect {
  if (effect === undefined) throw new Error('the step was refused')
  return effect
}
