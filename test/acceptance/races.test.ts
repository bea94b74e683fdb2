import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { killedWhileCharging, retry } from './support/killed-node.js'
import { startNode } from './support/node-process.js'
import { race } from './support/race.js'
import { openShop } from './support/shop.js'
import { type TestFile, testFile } from './support/test-file.js'

/** Real processes that want the same key at the same time. */

test('of two that meet in the handler exactly one succeeds; the other is told that it runs, and pays nothing [S3-70]', async () => {
  const file = await testFile()
  const [first, second] = await Promise.all([startNode(file.path), startNode(file.path)])
  first.run({ key: 'k', handler: 'waits, then pays' })
  await first.heard('started', 'k')
  second.run({ key: 'k', handler: 'pays' })
  expect(await second.heard('ended', 'k')).toMatchObject({ code: 'idempotency_key_in_progress' })
  first.go()
  expect(await first.heard('ended', 'k')).toMatchObject({ replayed: false })
  expect(file.sql('SELECT made_by FROM payments')).toEqual([{ made_by: String(first.child.pid) }])
})

test('of twenty that find the lease over exactly one writes the doubt, and nothing runs [S2-098]', async () => {
  const file = await testFile()
  await file.setTime(await killedWhileCharging(file))
  const transitions = loggedTransitions(file)
  const nodes = [file.node(), file.node()]
  const codes = await Promise.all(nodes.flatMap((node) => Array.from({ length: 10 }, () => retry(node))))
  expect(new Set(codes)).toEqual(new Set(['outcome_unknown']))
  expect(transitions()).toEqual(['in_progress → unknown'])
})

test('of twenty retries of a failure, in two processes, exactly one runs [S2-104 S2-108 S3-35]', async () => {
  const file = await testFile()
  const { hapax } = file.node()
  const policy = hapax.policy({ name: 'payments.create' })
  const failing = hapax.run({ scope: 'acme', key: 'k', policy }, () => Promise.reject(new Error('no')))
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

test('a thousand keys, each raced for by fifty requests in four processes: each runs exactly once [S1-030 S1-100]', async () => {
  const { path } = await openShop()
  const effects = `${path}.effects`
  const rounds = Array.from({ length: 50 }, (_, round) => Array.from({ length: 20 }, (_, key) => `k${round}-${key}`))
  const ran = await race({ path, effects, nodes: 4, racersPerNode: 13, rounds })
  const lines = (await readFile(effects, 'utf8')).trim().split('\n')
  expect(lines.sort()).toEqual(rounds.flat().sort())
  expect(ran.reduce((sum, times) => sum + times)).toBe(1_000)
  // A node that never wins was not in the race.
  expect(ran.filter((times) => times > 0).length).toBeGreaterThan(1)
}, 60_000)

/** Lets the database itself note every change of state from now on. */
function loggedTransitions(file: TestFile): () => unknown[] {
  file.sql('CREATE TABLE transitions (change TEXT NOT NULL) STRICT')
  file.sql(`CREATE TRIGGER noted AFTER UPDATE OF status ON hapax_records
    BEGIN INSERT INTO transitions VALUES (old.status || ' → ' || new.status); END`)
  return () => file.sql('SELECT change FROM transitions ORDER BY rowid').map(({ change }) => change)
}
