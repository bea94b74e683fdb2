import { expect, test } from 'vitest'
import { startGateway } from './support/gateway.js'
import { killedWhileCharging, retry } from './support/killed-node.js'
import { startNode } from './support/node-process.js'
import { testFile } from './support/test-file.js'
import { days } from './support/times.js'

/** Real processes on a real file, killed and frozen. The file's clock is moved; nobody sleeps. */

test('a killed handler holds its key to the last millisecond of its lease and not beyond [S2-005 S3-10 S3-57]', async () => {
  const file = await testFile()
  const leaseOver = await killedWhileCharging(file)
  await file.setTime(leaseOver - 1)
  expect(await retry(file.node())).toBe('idempotency_key_in_progress')
  expect(file.row('k').status).toBe('in_progress')
  await file.setTime(leaseOver)
  expect(await retry(file.node())).toBe('outcome_unknown')
  expect(file.row('k')).toMatchObject({ status: 'unknown', locked_until: null, locked_at: null })
})

test('a lease that ran out is a reason to ask, not to charge again: one charge, whoever retries [S2-054 S2-105 S2-110]', async () => {
  const file = await testFile()
  const gateway = await startGateway()
  await file.setTime(await killedWhileCharging(file, gateway))
  const node = file.node()
  const policy = node.hapax.policy({ name: 'payments.create' })
  const charge = async () => (await fetch(gateway.url, { method: 'POST' })).text()
  for (let time = 0; time < 5; time++) {
    const again = node.hapax.run({ scope: 'acme', key: 'k', policy }, charge)
    await expect(again).rejects.toMatchObject({ code: 'outcome_unknown' })
  }
  expect(gateway.charges()).toBe(1)
})

test('the key is on disk before the effect begins, so that a crash behind it cannot charge twice [S2-073]', async () => {
  const file = await testFile()
  const gateway = await startGateway()
  const process = await startNode(file.path)
  process.run({ key: 'k', handler: 'charges', gateway: gateway.url })
  await gateway.charged()
  const atTheEffect = file.row('k')
  await process.kill()
  expect(atTheEffect).toMatchObject({ status: 'in_progress', fence: 1, response_status_code: null })
  expect(await retry(file.node())).toBe('idempotency_key_in_progress')
  expect(gateway.charges()).toBe(1)
})

test('what may have happened is never evicted: its row stays, due for reconciliation at once [S2-013 S2-106]', async () => {
  const file = await testFile()
  const leaseOver = await killedWhileCharging(file)
  await file.setTime(leaseOver + 7)
  const node = file.node()
  await retry(node)
  const doubted = file.row('k')
  expect(doubted).toMatchObject({
    status: 'unknown',
    reconcile_after: leaseOver + 7,
    last_error_code: 'in_progress_lock_expired',
    fence: 1,
    attempt: 1,
  })
  await file.setTime(leaseOver + 3_650 * days)
  expect(await node.store.reap(1_000)).toEqual({ buried: 0, deleted: 0 })
  expect(file.row('k')).toEqual(doubted)
})

test('a sweep does the same for every killed handler, knowing neither keys nor fingerprints [S2-068 S2-107]', async () => {
  const file = await testFile()
  const process = await startNode(file.path)
  const keys = ['a', 'b', 'c']
  for (const key of keys) process.run({ key, handler: 'hangs' })
  for (const key of keys) await process.heard('started', key)
  await process.kill()
  const leaseOver = Math.max(...keys.map((key) => Number(file.row(key).locked_until)))
  await file.setTime(leaseOver)
  const { store } = file.node()
  expect(await store.sweep(2)).toHaveLength(2)
  expect(await store.sweep(2)).toHaveLength(1)
  for (const key of keys) {
    expect(file.row(key)).toMatchObject({
      status: 'unknown',
      reconcile_after: leaseOver,
      last_error_code: 'in_progress_lock_expired',
    })
  }
})

test('killed between its rows and the commit it leaves neither rows nor an answer, and the retry pays once [S2-067 S2-103]', async () => {
  const file = await testFile()
  const process = await startNode(file.path)
  process.run({ key: 'k', handler: 'pays, and never commits', policy: { onCrash: 'retry' } })
  await process.heard('inserted', 'k')
  await process.kill()
  expect(file.sql('SELECT * FROM payments')).toEqual([])
  const left = file.row('k')
  expect(left).toMatchObject({ status: 'in_progress', response_status_code: null, completed_at: null })
  await file.setTime(Number(left.locked_until))
  const next = await startNode(file.path)
  next.run({ key: 'k', handler: 'pays', policy: { onCrash: 'retry' } })
  expect(await next.heard('ended', 'k')).toMatchObject({ value: { by: next.child.pid }, replayed: false })
  expect(file.sql('SELECT made_by FROM payments')).toEqual([{ made_by: String(next.child.pid) }])
  expect(file.row('k')).toMatchObject({ status: 'completed', attempt: 2 })
})

test('a frozen holder that wakes up too late writes nothing, even while its successor still runs [S2-102 G-01]', async () => {
  const file = await testFile()
  const order = { key: 'k', handler: 'waits, then pays', policy: { onCrash: 'retry' } } as const
  const frozen = await startNode(file.path)
  frozen.run(order)
  await frozen.heard('started', 'k')
  frozen.child.kill('SIGSTOP')
  await file.setTime(Number(file.row('k').locked_until))
  const successor = await startNode(file.path)
  successor.run(order)
  await successor.heard('started', 'k')
  const held = file.row('k')
  expect(held).toMatchObject({ status: 'in_progress', fence: 2 })

  frozen.child.kill('SIGCONT')
  frozen.go()
  expect(await frozen.heard('ended', 'k')).toMatchObject({ code: 'claim_lost' })
  expect(file.sql('SELECT * FROM payments')).toEqual([])
  expect(file.row('k')).toEqual(held)

  successor.go()
  expect(await successor.heard('ended', 'k')).toMatchObject({ value: { by: successor.child.pid }, replayed: false })
  expect(file.sql('SELECT made_by FROM payments')).toEqual([{ made_by: String(successor.child.pid) }])
})
