import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import { scopeOf } from '../../engine/scope.js'
import { limits } from '../../kernel/limits.js'
import { present, same, verdictOf } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  fingerprint,
  halfDone,
  leaseMs,
  reservation,
  retentionMs,
} from '../given.js'
import type { Show } from '../stage.js'

/** Taking a key: what a new record holds, which keys are the same key, and whose reservation it is. */
export const reserving: Readonly<Record<string, Show>> = {
  'a new record holds what its reservation said, at the time of the store': async ({ store, startedAt }) => {
    const asked = reservation({ onLeaseOver: 'resume', tombstoneMs: 7 })
    const { record, claim } = verdictOf(await store.reserve(asked), 'reserved')
    const { scope, key, claimId, operation, tombstoneMs } = asked
    same(claim, { scope, key, claimId, generation: 1, fence: 1 })
    same(record, {
      ...claim,
      id: record.id,
      state: 'in_progress',
      operation,
      fingerprint: asked.fingerprints[0],
      attempt: 1,
      leaseUntil: startedAt + leaseMs,
      onLeaseOver: 'resume',
      recoveryPoint: 'started',
      isBegun: false,
      hasEffects: false,
      looks: 0,
      evidence: [],
      createdAt: startedAt,
      lastRunAt: startedAt,
      expiresAt: startedAt + retentionMs,
      retentionMs,
      tombstoneMs,
    })
    same(await store.find(claim), record)
  },

  'a key that was never used is not found': async ({ store }) => {
    await claimed(store)
    same(await store.find({ scope: scopeOf('acme'), key: keyOf('never used') }), undefined)
  },

  'what one node reserved, another finds': async ({ store, open }) => {
    const other = await open()
    const claim = await claimed(store)
    same(await other.find(claim), await store.find(claim))
    verdictOf(await other.reserve(reservation()), 'in_progress')
  },

  'the same key in another scope is another key': async ({ store }) => {
    const scopes = [
      scopeOf('acme'),
      scopeOf('globex'),
      scopeOf('ACME'),
      scopeOf({ tenant: 'acme', principal: 'usr_7' }),
      scopeOf({ tenant: 'acme', credential: 'usr_7' }),
    ]
    for (const scope of scopes) verdictOf(await store.reserve(reservation({ scope })), 'reserved')
    const claim = await claimed(store, { scope: scopeOf('initech') })
    assert.ok(await store.complete(claim, completion()))
    verdictOf(await store.reserve(reservation()), 'in_progress')
  },

  'keys are told apart by every character': async ({ store }) => {
    const similar = [
      'key',
      'KEY',
      'key ',
      ' key',
      'ke_',
      'ke%',
      'k*y',
      'key"',
      "key'",
      'key\\',
      'key;',
      'key:1',
      '1',
      '01',
    ]
    for (const key of similar) verdictOf(await store.reserve(reservation({ key: keyOf(key) })), 'reserved')
  },

  'scope and key do not run into each other': async ({ store }) => {
    const names = [
      ['a', 'bc'],
      ['ab', 'c'],
      ['a', ';bc'],
      ['a', ':bc'],
      ['a', '/bc'],
    ] as const
    for (const [scope, key] of names) {
      verdictOf(await store.reserve(reservation({ scope: scopeOf(scope), key: keyOf(key) })), 'reserved')
    }
  },

  'the longest scope and key are kept whole': async ({ store }) => {
    const name = { scope: scopeOf('s'.repeat(limits.scopeLength)), key: keyOf('k'.repeat(limits.keyLength)) }
    const claim = await claimed(store, name)
    verdictOf(await store.reserve(reservation({ ...name, key: keyOf('k'.repeat(limits.keyLength - 1)) })), 'reserved')
    same(present(await store.find(name)).key, claim.key)
    same(present(await store.find(name)).scope, claim.scope)
  },

  'a reservation whose reply was lost is recognised by its claim id, with the same fence': async ({
    store,
    at,
    startedAt,
  }) => {
    const asked = reservation()
    const first = verdictOf(await store.reserve(asked), 'reserved')
    await at(1_000)
    const again = verdictOf(await store.reserve(asked), 'reserved')
    same(again.claim, first.claim)
    same(again.record, { ...first.record, leaseUntil: startedAt + 1_000 + leaseMs })
    same(await store.find(asked), again.record)
  },

  'a resumption whose reply was lost is recognised by its claim id, with the same fence': async ({ store, at }) => {
    await halfDone(store)
    const asked = reservation()
    const first = verdictOf(await store.reserve(asked), 'resumed')
    await at(1_000)
    const again = verdictOf(await store.reserve(asked), 'resumed')
    same(again.claim, first.claim)
    assert.equal(again.claim.fence, 2)
    assert.equal(again.record.attempt, 2)
  },

  'a claim id is its own only while the claim is held': async ({ store }) => {
    const asked = reservation()
    const claim = await claimed(store, asked)
    assert.ok(await store.complete(claim, completion()))
    verdictOf(await store.reserve(asked), 'completed')
  },

  'a new record is given the first of the fingerprints': async ({ store }) => {
    const fingerprints = [fingerprint('this request', 'newer'), fingerprint('this request', 'older')] as const
    const claim = await claimed(store, { fingerprints })
    assert.equal(present(await store.find(claim)).fingerprint, fingerprints[0])
  },

  'a record is the same request under any of the fingerprints, and keeps its own': async ({ store }) => {
    const older = fingerprint('this request', 'older')
    await completed(store, { fingerprints: [older] })
    const fingerprints = [fingerprint('this request', 'newer'), older] as const
    const { record } = verdictOf(await store.reserve(reservation({ fingerprints })), 'completed')
    assert.equal(record.fingerprint, older)
  },

  'a retry of what failed resumes at the recovery point, with what the phases left': async ({
    store,
    at,
    startedAt,
  }) => {
    const before = await halfDone(store)
    await at(5_000)
    const asked = reservation({ onLeaseOver: 'resume' })
    const { claim, record } = verdictOf(await store.reserve(asked), 'resumed')
    same(claim, { ...before, fence: before.fence + 1, claimId: asked.claimId })
    assert.equal(record.recoveryPoint, checkpoint.recoveryPoint)
    same(record.progress, checkpoint.progress)
    assert.equal(record.state, 'in_progress')
    assert.equal(record.attempt, 2)
    assert.equal(record.leaseUntil, startedAt + 5_000 + leaseMs)
    // What the last phase left is on record, and whoever resumes does not know better.
    assert.equal(record.onLeaseOver, checkpoint.onLeaseOver)
    assert.equal(record.errorCode, undefined)
    assert.equal(record.createdAt, startedAt)
    assert.equal(record.lastRunAt, startedAt + 5_000)
    same(await store.find(claim), record)
  },
}
