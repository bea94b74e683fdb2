import { describe, expect, test } from 'vitest'
import { type Fingerprint, recipeOf } from '../../src/engine/fingerprint/fingerprint.js'
import { keyOf } from '../../src/engine/key.js'
import type { Claim, StoredRecord } from '../../src/engine/record.js'
import { scopeOf } from '../../src/engine/scope.js'
import type { Completion } from '../../src/engine/store.js'
import * as steps from '../../src/engine/transitions.js'
import type { Reservation } from '../../src/engine/verdict.js'

const asked: Reservation = {
  scope: scopeOf('acme'),
  key: keyOf('key'),
  claimId: 'first',
  operation: 'payments.create',
  fingerprints: ['v1:aa' as Fingerprint],
  leaseMs: 100,
  retentionMs: 1_000,
  tombstoneMs: 10_000,
  onLeaseOver: 'doubt',
  onExpired: 'run',
  onNew: 'take',
}
const completion: Completion = {
  answer: { kind: 'kept', status: 201, headers: [], body: new Uint8Array([1]) },
  answerVersion: 1,
}

const record = reservedAt(0)
const claim: Claim = record

function reservedAt(now: number, changes: Partial<StoredRecord> = {}): StoredRecord {
  const { next } = steps.reserve(undefined, asked, now, () => 7)
  if (next === undefined) throw new Error('a new key is always taken')
  return Object.freeze({ ...next, ...changes })
}

describe('reserving', () => {
  test('asks for an id only when the record is new', () => {
    const newId = () => {
      throw new Error('nobody needs an id here')
    }
    const completed = steps.complete(record, claim, completion, 0)
    expect(steps.reserve(completed, asked, 1_000, newId).next?.id).toBe(7)
    expect(steps.reserve(record, asked, 0, newId).next?.id).toBe(7)
  })

  test('recognises its own claim even after the lease ran out, before anybody else came', () => {
    expect(steps.reserve(record, asked, 100, () => 8).verdict).toMatchObject({ kind: 'reserved', claim: { fence: 1 } })
  })

  test('by another, once the lease ran out, is doubt with the fence that was', () => {
    const { verdict, next } = steps.reserve(record, { ...asked, claimId: 'second' }, 100, () => 8)
    expect(verdict).toEqual({ kind: 'unknown', reconcileInMs: 0, swept: true })
    expect(next).toMatchObject({ state: 'unknown', fence: 1, claimId: 'first', errorCode: 'in_progress_lock_expired' })
  })

  test('never says that a doubt was due in the past', () => {
    const doubted = steps.doubt(record, claim, { errorCode: 'timeout', reconcileAfterMs: 5 }, 0)
    expect(steps.reserve(doubted, { ...asked, claimId: 'second' }, 999, () => 8).verdict).toEqual({
      kind: 'unknown',
      reconcileInMs: 0,
    })
  })

  test('what failed keeps the retention that it was first given', () => {
    const failed = steps.fail(record, claim, { errorCode: 'threw' }, 0)
    const { next } = steps.reserve(failed, { ...asked, claimId: 'second', retentionMs: 9 }, 10, () => 8)
    expect(next).toMatchObject({ retentionMs: 1_000, expiresAt: 1_010 })
  })

  test('a recipe may hold the character that ends it', () => {
    const fingerprint = 'v2:hmac:key-7:ff' as Fingerprint
    expect(recipeOf(fingerprint)).toBe('v2:hmac:key-7')
    const { verdict } = steps.reserve(reservedAt(0, { fingerprint }), asked, 0, () => 8)
    expect(verdict).toEqual({ kind: 'incomparable', recipe: 'v2:hmac:key-7', operation: record.operation })
  })

  test('a completed record without an answer is a bug, not a verdict', () => {
    const broken = reservedAt(0, { state: 'completed' })
    expect(() => steps.reserve(broken, asked, 0, () => 8)).toThrow('a completed record has an answer')
  })
})

describe('the holder', () => {
  test('of nothing can do nothing', () => {
    expect(steps.renew(undefined, claim, 100, 0)).toBeUndefined()
    expect(
      steps.checkpoint(undefined, claim, { recoveryPoint: 'p', onLeaseOver: 'doubt', leaseMs: 1 }, 0),
    ).toBeUndefined()
    expect(steps.complete(undefined, claim, completion, 0)).toBeUndefined()
    expect(steps.release(undefined, claim)).toBeUndefined()
    expect(steps.fail(undefined, claim, { errorCode: 'threw' }, 0)).toBeUndefined()
    expect(steps.doubt(undefined, claim, { errorCode: 'timeout', reconcileAfterMs: 0 }, 0)).toBeUndefined()
  })

  test('may renew for a shorter time than is left', () => {
    expect(steps.renew(record, claim, 1, 0)?.leaseUntil).toBe(1)
  })

  test('who fails leaves recovery point and progress for the next', () => {
    const progress = new Uint8Array([1, 2])
    const ahead = steps.checkpoint(
      record,
      claim,
      { recoveryPoint: 'p', onLeaseOver: 'resume', leaseMs: 5, progress },
      0,
    )
    expect(steps.fail(ahead, claim, { errorCode: 'threw' }, 1)).toMatchObject({ recoveryPoint: 'p', progress })
  })

  test('who completes a doubt leaves nothing of it but its evidence', () => {
    const evidence = [{ says: 'not_landed', by: 'reconciler', why: 'asked', at: 1 }] as const
    const doubted = reservedAt(0, { state: 'unknown', errorCode: 'timeout', reconcileAfter: 5, evidence })
    expect(steps.complete(doubted, claim, completion, 9)).toMatchObject({
      state: 'completed',
      errorCode: undefined,
      reconcileAfter: undefined,
      evidence,
    })
  })

  test.each([
    { found: 'never used', changes: {}, left: 'deleted' },
    {
      found: 'failed before',
      changes: { attempt: 2 },
      left: { state: 'failed_retryable', fence: 1, leaseUntil: undefined },
    },
    { found: 'expired before', changes: { generation: 2 }, left: { state: 'expired', generation: 2 } },
    { found: 'expired and then failed', changes: { generation: 2, attempt: 2 }, left: { state: 'failed_retryable' } },
  ] as const)('who releases a key that was $found gives it back as that', ({ changes, left }) => {
    const held = reservedAt(0, changes)
    const given = steps.release(held, held)
    if (left === 'deleted') expect(given).toBe('deleted')
    else expect(given).toMatchObject(left)
  })

  test('who has committed a phase cannot release, whatever the attempt', () => {
    for (const attempt of [1, 2]) {
      const held = reservedAt(0, { recoveryPoint: 'ride_created', attempt })
      expect(steps.release(held, held)).toBeUndefined()
    }
  })

  test('who repeats himself gets the very same record', () => {
    const completed = steps.complete(record, claim, completion, 0)
    expect(steps.complete(completed, claim, { ...completion, answerVersion: 2 }, 500)).toBe(completed)
  })
})

describe('expiry', () => {
  const finished = { state: 'completed', expiresAt: 1_000 } as const

  test.each([
    { title: 'an answer before its deadline is not expired', changes: finished, now: 999, expired: false },
    { title: 'an answer at its deadline is expired', changes: finished, now: 1_000, expired: true },
    {
      title: 'an answer without a deadline is never expired',
      changes: { ...finished, expiresAt: undefined },
      now: 1e15,
      expired: false,
    },
    {
      title: 'a failure at its deadline is expired',
      changes: { state: 'failed_retryable' },
      now: 1_000,
      expired: true,
    },
    {
      title: 'half-done work is never expired',
      changes: { state: 'failed_retryable', recoveryPoint: 'p' },
      now: 1e15,
      expired: false,
    },
    { title: 'a doubt is never expired', changes: { state: 'unknown' }, now: 1e15, expired: false },
    { title: 'what is in progress is never expired', changes: {}, now: 1e15, expired: false },
    { title: 'a tombstone is expired whatever the time', changes: { state: 'expired' }, now: 0, expired: true },
  ] as const)('$title', ({ changes, now, expired }) => {
    expect(steps.isExpired(reservedAt(0, changes), now)).toBe(expired)
  })

  test('a tombstone stands from the deadline, not from its burial', () => {
    const buried = steps.reap(reservedAt(0, finished), 5_000)
    expect(buried).toMatchObject({ state: 'expired', expiresAt: 1_000 })
    expect(steps.reap(buried as StoredRecord, 10_999)).toBeUndefined()
    expect(steps.reap(buried as StoredRecord, 11_000)).toBe('deleted')
  })

  test('a tombstone keeps neither answer nor progress', () => {
    const failed = reservedAt(0, { state: 'failed_retryable', progress: new Uint8Array([1]) })
    expect(steps.reap(failed, 1_000)).toMatchObject({
      answer: undefined,
      answerVersion: undefined,
      progress: undefined,
    })
  })
})

describe('what is past its retention', () => {
  const halfDone = { state: 'failed_retryable', leaseUntil: undefined, recoveryPoint: 'charged' } as const
  const resumable = { onLeaseOver: 'resume' } as const
  const ours = ['payments.create']
  test.each([
    { title: 'half-done work that failed', changes: halfDone, left: true },
    { title: 'the same for ever', changes: { ...halfDone, expiresAt: undefined }, left: false },
    { title: 'a failure that left nothing', changes: { ...halfDone, recoveryPoint: 'started' }, left: false },
    { title: 'a begun call', changes: { ...halfDone, recoveryPoint: 'started', isBegun: true }, left: true },
    { title: 'a claim that may run again', changes: resumable, left: true },
    { title: 'the same while its lease lives', changes: { ...resumable, leaseUntil: 1_001 }, left: false },
    { title: 'the same of a known operation', changes: resumable, operations: ours, left: false },
    { title: 'a claim for the sweeper', changes: {}, left: false },
    { title: 'a failure given up by workers', changes: halfDone, operations: ours, left: true },
    { title: 'a failure that workers try', changes: { ...halfDone, reconcileAfter: 9 }, operations: ours, left: false },
    { title: 'a failure that nobody knows', changes: { ...halfDone, reconcileAfter: 9 }, left: true },
    { title: 'a failure that is due later', changes: { ...halfDone, reconcileAfter: 1_001 }, left: false },
    { title: 'a doubt', changes: { state: 'unknown', leaseUntil: undefined }, left: false },
    { title: 'an answer', changes: { state: 'completed', leaseUntil: undefined }, left: false },
  ] as const)('is left to a person, or not: $title', ({ changes, left, ...given }) => {
    const operations = 'operations' in given ? given.operations : []
    expect(steps.abandon(reservedAt(0, changes), operations, 999)).toBeUndefined()
    expect(steps.abandon(reservedAt(0, changes), operations, 1_000)?.state).toBe(left ? 'unknown' : undefined)
  })

  test('can be completed by who is only slow, and not by who said that it failed', () => {
    const slow = steps.abandon(reservedAt(0, resumable), [], 1_000)
    expect(steps.complete(slow, claim, completion, 1_001)?.state).toBe('completed')
    const failed = steps.abandon(reservedAt(0, halfDone), [], 1_000)
    expect(steps.complete(failed, claim, completion, 1_001)).toBeUndefined()
  })
})

describe('evidence', () => {
  const doubted = reservedAt(0, {
    state: 'unknown',
    reconcileAfter: 5,
    errorCode: 'timeout',
    doubtedAt: 3,
    looks: 2,
  })
  const evidence = { by: 'operator:ada', why: 'the bank called' }

  test('about nothing settles nothing', () => {
    expect(steps.settle(undefined, { generation: 1, evidence, outcome: { kind: 'not_landed' } }, 0)).toBeUndefined()
  })

  test('about another generation settles nothing', () => {
    expect(steps.settle(doubted, { generation: 2, evidence, outcome: { kind: 'not_landed' } }, 0)).toBeUndefined()
  })

  test('is kept with its time, and ends the doubt', () => {
    expect(steps.settle(doubted, { generation: 1, evidence, outcome: { kind: 'not_landed' } }, 9)).toMatchObject({
      state: 'failed_retryable',
      errorCode: undefined,
      reconcileAfter: 9,
      doubtedAt: undefined,
      evidence: [
        { ...evidence, says: 'not_landed', at: 9, doubt: { errorCode: 'timeout', at: 3, fence: 1, looks: 2 } },
      ],
      expiresAt: 1_009,
    })
  })

  test('that settled a doubt with an answer leaves the last claim nothing to complete', () => {
    const settled = steps.settle(doubted, { generation: 1, evidence, outcome: { kind: 'completed', ...completion } }, 9)
    expect(steps.complete(settled, claim, completion, 10)).toBeUndefined()
  })
})
