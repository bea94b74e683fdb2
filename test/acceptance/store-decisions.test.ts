import { engine, type Verdict } from 'hapax'
import { storeConformance } from 'hapax/conformance'
import { memoryStore } from 'hapax/memory'
import { expect, test, vi } from 'vitest'
import { memoryHarness } from '../conformance/memory-harness.js'
import { anotherRequest, claimed, created, reservation } from './support/reservations.js'
import { sabotaged } from './support/sabotaged-store.js'
import { testFile } from './support/test-file.js'
import { noon } from './support/times.js'

/** What the store says to a request, and in which order it looks: the key, then the fingerprint, then the state. */

test('new key, other fingerprint, running, completed: asked in this order, and never the key alone [S2-003 S2-026 S2-052]', async () => {
  const file = await testFile()
  const { store } = file.node()
  await file.setTime(noon)
  await claimed(store, reservation('in_progress'))
  await store.complete(await claimed(store, reservation('completed')), created)
  await store.fail(await claimed(store, reservation('failed')), { errorCode: 'threw' })
  await store.doubt(await claimed(store, reservation('unknown')), { errorCode: 'timeout', reconcileAfterMs: 0 })
  const said = async (key: string, changes = {}) => (await store.reserve(reservation(key, changes))).kind

  expect(await said('new')).toBe('reserved')
  expect(await said('new too', anotherRequest)).toBe('reserved')
  for (const key of ['in_progress', 'completed', 'failed', 'unknown'])
    expect(await said(key, anotherRequest), key).toBe('mismatched')
  expect(await said('in_progress')).toBe('in_progress')
  expect(await said('completed')).toBe('completed')
  expect(await said('unknown')).toBe('unknown')
  expect(await said('failed')).toBe('resumed')
})

test('a decision carries what its reader needs: the right to write, the answer, or how long to wait [S2-025]', async () => {
  const file = await testFile()
  const { store } = file.node()
  await file.setTime(noon)
  const told: Record<string, unknown> = {}
  const say = (verdict: Verdict) => {
    switch (verdict.kind) {
      case 'reserved':
      case 'resumed':
        told[verdict.kind] = verdict.claim.fence
        return verdict.claim
      case 'completed':
        told.completed = verdict.answer
        return undefined
      case 'in_progress':
        told.in_progress = verdict.leaseLeftMs
        return undefined
      case 'unknown':
        told.unknown = verdict.reconcileInMs
        return undefined
      case 'mismatched':
      case 'incomparable':
      case 'expired':
      case 'new':
        told[verdict.kind] = 'refused'
        return undefined
    }
  }
  const claim = say(await store.reserve(reservation('k')))
  say(await store.reserve(reservation('k')))
  say(await store.reserve(reservation('k', anotherRequest)))
  if (claim !== undefined) await store.complete(claim, created)
  say(await store.reserve(reservation('k')))
  expect(told).toEqual({ reserved: 1, in_progress: 30_000, mismatched: 'refused', completed: created.answer })
})

test('completing a key that nobody reserved is refused, and a typed error where work would be lost [S2-027]', async () => {
  const file = await testFile()
  const { store, hapax } = file.node()
  const forged = { ...reservation('k'), generation: 1, fence: 1 }
  expect(await store.complete(forged, created)).toBe(false)
  const committing = store.transaction(forged, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments (made_by) VALUES ('nobody')" })
    return { value: 'paid', write: { kind: 'complete', ...created } }
  })
  await expect(committing).rejects.toMatchObject({ name: 'HapaxError', code: 'claim_lost' })
  const policy = hapax.policy({ name: 'payments.create' })
  const vanished = hapax.run({ scope: 'acme', key: 'k', policy }, async () => {
    file.sql('DELETE FROM hapax_records')
    return 'paid'
  })
  await expect(vanished).rejects.toMatchObject({ name: 'HapaxError', code: 'claim_lost' })
  expect(file.sql('SELECT * FROM hapax_records')).toEqual([])
  expect(file.sql('SELECT * FROM payments')).toEqual([])
})

test('a failure that is reported after the completion takes nothing back: the answer still replays [S2-028]', async () => {
  const file = await testFile()
  const { store } = file.node()
  await file.setTime(noon)
  const claim = await claimed(store, reservation('k'))
  await store.complete(claim, created)
  const before = file.row('k')
  expect(await store.fail(claim, { errorCode: 'threw' })).toBe(false)
  expect(await store.release(claim)).toBe(false)
  expect(file.row('k')).toEqual(before)
  expect(await store.reserve(reservation('k'))).toMatchObject({ kind: 'completed', answer: created.answer })
})

test('the memory store is the port in small: it passes the suite, and warns where it would be relied upon [S2-024]', async () => {
  const played = storeConformance(memoryHarness).filter(({ skip }) => skip === undefined)
  expect(played.length).toBeGreaterThan(50)
  for (const { run } of played) await run()
  const warnings = (environment: string) => {
    vi.stubEnv('NODE_ENV', environment)
    const codes: string[] = []
    engine({ store: memoryStore(), log: ({ code }) => codes.push(code) })
    vi.unstubAllEnvs()
    return codes
  }
  expect(warnings('production')).toEqual(['store_forgets'])
  expect(warnings('test')).toEqual([])
})

test('take the fingerprint, the lock or the recovery point out of a store, and the suite finds it out', async () => {
  expect(await sabotaged({})).toEqual([])
  const withoutFingerprint = await sabotaged({
    reserve: (store) => async (asked) => {
      const record = await store.find(asked)
      return store.reserve(record === undefined ? asked : { ...asked, fingerprints: [record.fingerprint] })
    },
  })
  expect(withoutFingerprint).toContain(
    'another request under a key that is in progress is a mismatch, and changes nothing',
  )
  const withoutLock = await sabotaged({
    reserve: (store) => async (asked) => {
      const verdict = await store.reserve(asked)
      const record = await store.find(asked)
      if (verdict.kind !== 'in_progress' || record === undefined) return verdict
      return { kind: 'reserved', claim: record, record }
    },
  })
  expect(withoutLock).toContain('of fifty racers on one node exactly one starts')
  const withoutRecoveryPoint = await sabotaged({
    checkpoint: (store) => (claim, step) => store.checkpoint(claim, { ...step, recoveryPoint: 'started' }),
  })
  expect(withoutRecoveryPoint.length).toBeGreaterThan(0)
})
