import { expect, test } from 'vitest'
import { days, type FileNode, type TestFile, testFile } from './support/states-file.js'
import { startGateway } from './support/states-gateway.js'
import { startNode } from './support/states-process.js'

/** Real processes on a real file: killed, frozen, raced. The file's clock is moved; nobody sleeps. */

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
    const again = node.hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, charge)
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

test('of twenty that find the lease over exactly one writes the doubt, and nothing runs [S2-098]', async () => {
  const file = await testFile()
  await file.setTime(await killedWhileCharging(file))
  const transitions = loggedTransitions(file)
  const nodes = [file.node(), file.node()]
  const codes = await Promise.all(Array.from({ length: 20 }, (_, index) => retry(nodes[index % 2])))
  expect(new Set(codes)).toEqual(new Set(['outcome_unknown']))
  expect(transitions()).toEqual(['in_progress → unknown'])
})

test('of twenty retries of a failure, in two processes, exactly one runs [S2-104 S2-108 S3-35]', async () => {
  const file = await testFile()
  const { hapax } = file.node()
  const policy = hapax.policy({ name: 'payments.create' })
  const failing = hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(file.row('k')).toMatchObject({ status: 'failed_retryable', locked_at: null })
  const transitions = loggedTransitions(file)
  const processes = [await startNode(file.path), await startNode(file.path)]
  for (const process of processes) {
    for (let time = 0; time < 10; time++) process.run({ key: 'k', handler: 'hangs' })
  }
  await expect.poll(() => processes.map(({ count }) => count('ended', 'k')).reduce((a, b) => a + b)).toBe(19)
  expect(processes.map(({ count }) => count('started', 'k')).sort()).toEqual([0, 1])
  expect(transitions()).toEqual(['failed_retryable → in_progress'])
  expect(file.row('k')).toMatchObject({ fence: 2, attempt: 2, locked_at: expect.any(Number) })
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

test('a frozen holder that wakes up too late writes nothing: rows and answer are those of its successor [S2-102 G-01]', async () => {
  const file = await testFile()
  const policy = { onCrash: 'retry' } as const
  const frozen = await startNode(file.path)
  frozen.run({ key: 'k', handler: 'waits, then pays', policy })
  await frozen.heard('started', 'k')
  frozen.child.kill('SIGSTOP')
  await file.setTime(Number(file.row('k').locked_until))
  const successor = await startNode(file.path)
  successor.run({ key: 'k', handler: 'pays', policy })
  const answer = { by: successor.child.pid }
  expect(await successor.heard('ended', 'k')).toMatchObject({ value: answer, replayed: false })
  const written = file.row('k')
  expect(written).toMatchObject({ status: 'completed', fence: 2 })

  frozen.child.kill('SIGCONT')
  frozen.go()
  expect(await frozen.heard('ended', 'k')).toMatchObject({ value: answer, replayed: true })
  expect(file.sql('SELECT made_by FROM payments')).toEqual([{ made_by: String(successor.child.pid) }])
  expect(file.row('k')).toEqual(written)
})

test('many processes and a restart share what one process memory could not: each key runs once [S2-078]', async () => {
  const file = await testFile()
  const keys = Array.from({ length: 50 }, (_, index) => `k${index}`)
  const processes = await Promise.all([1, 2, 3].map(() => startNode(file.path)))
  for (const key of keys) for (const process of processes) process.run({ key, handler: 'answers' })
  for (const key of keys) for (const process of processes) await process.heard('ended', key)
  for (const key of keys) {
    const starts = processes.map(({ count }) => count('started', key))
    expect(starts.sort(), key).toEqual([0, 0, 1])
  }
  for (const process of processes) await process.kill()
  const restarted = await startNode(file.path)
  for (const key of keys) restarted.run({ key, handler: 'answers' })
  for (const key of keys) expect(await restarted.heard('ended', key)).toMatchObject({ replayed: true })
})

/** A process is killed while the provider has its charge and it has no answer. Gives the end of its lease. */
async function killedWhileCharging(file: TestFile, given?: Awaited<ReturnType<typeof startGateway>>): Promise<number> {
  const gateway = given ?? (await startGateway())
  const process = await startNode(file.path)
  process.run({ key: 'k', handler: 'charges', gateway: gateway.url })
  await gateway.charged()
  await process.kill()
  return Number(file.row('k').locked_until)
}

/** Tries the key again on this node and gives the code of the refusal; a handler that runs fails the test. */
async function retry(node: FileNode | undefined): Promise<string> {
  const hapax = node?.hapax
  if (hapax === undefined) throw new Error('there is no such node')
  const policy = hapax.policy({ name: 'payments.create' })
  const run = hapax.run({ scope: 'acme', key: 'k', input: 1, policy }, async () => expect.fail('the handler ran again'))
  return run.then(
    () => 'it ran',
    (error) => error.code,
  )
}

/** Lets the database itself note every change of state from now on. */
function loggedTransitions(file: TestFile): () => unknown[] {
  file.sql('CREATE TABLE transitions (change TEXT NOT NULL) STRICT')
  file.sql(`CREATE TRIGGER noted AFTER UPDATE OF status ON hapax_records
    BEGIN INSERT INTO transitions VALUES (old.status || ' → ' || new.status); END`)
  return () => file.sql('SELECT change FROM transitions ORDER BY rowid').map(({ change }) => change)
}
