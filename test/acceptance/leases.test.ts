import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'
import { pay } from '../sandbox/payment-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { manualClock } from '../support/manual-clock.js'
import { gate } from '../support/waiting.js'
import { onBothDatabases } from './support/black-box.js'
import { startNode } from './support/node-process.js'
import { claimed, reservation } from './support/reservations.js'
import { testFile } from './support/test-file.js'
import { days, hours, noon, seconds } from './support/times.js'

/** How long a key is locked, by whose clock, and how a handler that lives longer keeps it. */

test('a lock of 90 seconds holds for 90 seconds; then, where that is safe, the next one takes it over [S3-38]', async () => {
  const file = await testFile()
  const { store } = file.node()
  const asked = { leaseMs: 90 * seconds, onLeaseOver: 'resume' } as const
  await file.setTime(noon)
  await claimed(store, reservation('k', asked))
  await file.setTime(noon + 90 * seconds - 1)
  expect(await store.reserve(reservation('k', asked))).toEqual({ kind: 'in_progress', leaseLeftMs: 1 })
  await file.setTime(noon + 90 * seconds)
  expect(await store.reserve(reservation('k', asked))).toMatchObject({ kind: 'resumed', claim: { fence: 2 } })
  expect(file.row('k')).toMatchObject({ locked_at: noon + 90 * seconds, locked_until: noon + 180 * seconds })
  expect(await store.reserve(reservation('k', asked))).toMatchObject({ kind: 'in_progress' })
})

test('a handler that outlives its lease keeps the lock by renewing it, and its answer counts [S3-40 G-02]', async () => {
  const file = await testFile()
  const clock = manualClock()
  const { hapax } = file.node({ clock })
  const policy = hapax.policy({ name: 'payments.create', lease: '90s' })
  const handler = gate<string>()
  await file.setTime(noon)
  const running = hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, () => handler.opened)
  const lockedUntil = () => file.sql('SELECT locked_until FROM hapax_records')[0]?.locked_until
  await expect.poll(lockedUntil).toBe(noon + 90 * seconds)
  for (const later of [60, 120, 180].map((count) => noon + count * seconds)) {
    await file.setTime(later)
    const afterASecond = async () => {
      await clock.advance(seconds)
      return lockedUntil()
    }
    await expect.poll(afterASecond, { interval: 1 }).toBe(later + 90 * seconds)
  }
  const other = file.node()
  const duplicate = other.hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async () => expect.fail('it ran'))
  await expect(duplicate).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
  handler.open('slow but alive')
  expect(await running).toMatchObject({ value: 'slow but alive', replayed: false })
  expect(file.row('k')).toMatchObject({ status: 'completed', fence: 1, attempt: 1 })
})

onBothDatabases((start) => {
  test('a duplicate is told to come back when the lease could be over, or sooner [S2-097]', async () => {
    const [short, long] = await Promise.all(
      ['1', '300'].map((lease) => start({ env: { SANDBOX_DELAY_MS: '60000', SANDBOX_LEASE_SECONDS: lease } })),
    )
    for (const [sandbox, seconds] of [
      [short, 1],
      [long, 2],
    ] as const) {
      if (sandbox === undefined) throw new Error('the sandbox did not start')
      const running = pay(sandbox, { key: 'k' }).catch(() => 'cut off')
      await untilRunning(sandbox, 'k')
      const duplicate = await pay(sandbox, { key: 'k' })
      expect(duplicate).toMatchObject({ status: 409, json: { retry_after: seconds } })
      expect(duplicate.headers.get('retry-after')).toBe(String(seconds))
      await sandbox.stop('SIGKILL')
      expect(await running).toBe('cut off')
    }
  })
})

test('a duplicate that is accepted is told when the lease could be over [S2-097]', async () => {
  const clock = manualClock()
  const hapax = engine({ store: memoryStore({ clock }), clock })
  const policy = hapax.policy({ name: 'payments.create', lease: '1s', concurrency: 'accept' })
  void hapax.run({ scope: 'acme', key: 'k', policy }, () => gate().opened)
  await clock.advance(300)
  const accepted = hapax.run({ scope: 'acme', key: 'k', policy }, async () => expect.fail('it ran'))
  expect(await accepted).toEqual({ kind: 'accepted', retryAfterMs: 700 })
})

test('a process whose clock is an hour wrong locks, waits and expires by the clock of the database [G-09]', async () => {
  const file = await testFile()
  const [fast, slow] = await Promise.all([
    startNode(file.path, { clockAheadMs: hours }),
    startNode(file.path, { clockAheadMs: -hours }),
  ])
  await file.setTime(noon)
  slow.run({ key: 'k', handler: 'hangs' })
  await slow.heard('started', 'k')
  expect(file.row('k')).toMatchObject({ created_at: noon, locked_until: noon + 30 * seconds, expires_at: noon + days })
  fast.run({ key: 'k', handler: 'answers' })
  expect(await fast.heard('ended', 'k')).toMatchObject({ code: 'idempotency_key_in_progress' })
  expect(file.row('k').status).toBe('in_progress')
})

test('an answer expires when the database says so, though clients a day ahead or behind think otherwise [G-22]', async () => {
  const file = await testFile()
  await file.setTime(noon)
  const [ahead, behind] = await Promise.all([
    startNode(file.path, { clockAheadMs: 25 * hours }),
    startNode(file.path, { clockAheadMs: -25 * hours }),
  ])
  behind.run({ key: 'k', handler: 'answers' })
  expect(await behind.heard('ended', 'k')).toMatchObject({ replayed: false })
  await file.setTime(noon + days - 1)
  ahead.run({ key: 'k', handler: 'answers' })
  expect(await ahead.heard('ended', 'k')).toMatchObject({ value: { by: behind.child.pid }, replayed: true })
  await file.setTime(noon + days)
  behind.run({ key: 'k', handler: 'answers' })
  await expect.poll(() => behind.count('started', 'k')).toBe(2)
  await expect.poll(() => file.row('k')).toMatchObject({ status: 'completed', generation: 2 })
})
