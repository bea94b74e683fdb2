import { readFileSync } from 'node:fs'
import { agree, compareLedgers, isHapaxError, limits, startWorkers, type Window, type WorkersOptions } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { workerBounds } from '../../src/kernel/limits.js'
import { type ManualClock, manualClock } from '../support/manual-clock.js'
import { bounded, gate, rejection, until } from '../support/waiting.js'
import { type ChargingGateway, chargingGateway } from './support/charging-gateway.js'
import { claimed, leaseMs, reservation } from './support/reservations.js'
import { request, rides } from './support/rides.mjs'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'
import { days, hours, noon } from './support/times.js'

/** Workers that run by themselves, on a file whose clock moves with theirs: what they do, and when. */

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')

interface Staffed extends FileNode {
  readonly file: TestFile
  /** Lets so much time pass for the file and the worker, and waits for the pass that is due then. */
  passAfter(ms: number): Promise<void>
}

const off = {
  sweeper: 'off',
  reconciler: 'off',
  resumer: 'off',
  reaper: 'off',
  effects: 'off',
  effectReconciler: 'off',
} as const

/** A node with one worker, whose passes come exactly when they are due at the latest: chance takes nothing off. */
async function staffed(worker: Omit<WorkersOptions<SqliteTransaction>, 'hapax'>): Promise<Staffed> {
  const file = await testFile()
  await file.setTime(noon)
  const clock: ManualClock = manualClock(noon)
  const node = file.node({ clock, chance: { fraction: () => 0, id: () => crypto.randomUUID() } })
  await node.hapax.open()
  let passed = gate()
  node.hapax.on('worker_passed', () => passed.open())
  const workers = startWorkers({ hapax: node.hapax, ...off, ...worker })
  onTestFinished(() => void workers.stop())
  const pass = async (start: () => Promise<void>) => {
    await start()
    await bounded(passed.opened, 'a pass')
    passed = gate()
    // It rests from here on.
    await clock.settle()
  }
  await pass(async () => {})
  return {
    ...node,
    file,
    passAfter: (ms) =>
      pass(async () => {
        await file.setTime(clock.now() + ms)
        await clock.advance(ms)
      }),
  }
}

test('a key that a crash left behind leaves in_progress within its lock and one interval of the sweeper [S1-111 R-09]', async () => {
  const { file, store, heard, passAfter } = await staffed({ sweeper: {} })
  const takenAt = noon + 777
  await file.setTime(takenAt)
  await claimed(store, reservation('stuck'))
  let now = noon
  for (; file.row('stuck').status === 'in_progress'; now += workerBounds.sweepMs) {
    expect(now).toBeLessThan(takenAt + leaseMs)
    await passAfter(workerBounds.sweepMs)
  }
  expect(file.row('stuck').status).toBe('unknown')
  expect(now).toBeGreaterThanOrEqual(takenAt + leaseMs)
  expect(now).toBeLessThanOrEqual(takenAt + leaseMs + workerBounds.sweepMs)
  expect(heard.filter(({ name }) => name === 'swept')).toHaveLength(1)
})

test('keys are deleted by the hour once their time is over, and live ones stay [S1-048 S1-090 S3-73]', async () => {
  const { file, store, hapax, passAfter } = await staffed({ reaper: { every: '1h' } })
  const policy = hapax.policy({ name: 'payments.create', retention: '24h', tombstone: '0s' })
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy }, async () => key)
  const keys = () => file.sql('SELECT idempotency_key AS key FROM hapax_records ORDER BY id').map(({ key }) => key)
  await run('old')
  await claimed(store, reservation('held', { leaseMs: 2 * days, retentionMs: 1, tombstoneMs: 0 }))
  for (let age = 1; age <= 23; age++) await passAfter(hours)
  await run('young')
  expect(keys()).toEqual(['old', 'held', 'young'])
  // What is over is buried in one pass, and deleted in the next.
  await passAfter(hours)
  expect(file.row('old')).toMatchObject({ status: 'expired', response_body: null })
  await passAfter(hours)
  expect(keys()).toEqual(['held', 'young'])
  expect(await run('young')).toMatchObject({ replayed: true })
})

test('workers that are started without a word take care of stuck keys and old ones: no request has to come by [R-09]', async () => {
  const file = await testFile()
  const { store, hapax } = file.node()
  await file.setTime(noon)
  await claimed(store, reservation('stuck'))
  const policy = hapax.policy({ name: 'payments.create', tombstone: '0s' })
  await hapax.run({ scope: 'acme', key: 'old', policy }, async () => 'done')
  await file.setTime(noon + days)
  const workers = startWorkers({ hapax })
  onTestFinished(() => workers.stop())
  const rows = async () => file.sql('SELECT idempotency_key AS key, status FROM hapax_records ORDER BY id')
  const isCaredFor = async () => JSON.stringify((await rows()).map(({ status }) => status))
  await until(isCaredFor, (statuses) => statuses === '["unknown","expired"]', 'the workers')
})

describe('the ledger of the provider', () => {
  test('is compared with ours by a worker, every 24 hours where nobody says otherwise [S1-068]', async () => {
    const windows: Window[] = []
    const card = {
      entries(window: Window) {
        windows.push(window)
        return [{ key: 'somebody-charged-this', id: 'ch_2', at: window.since + hours }]
      },
    }
    const node = await staffed({ ledger: { providers: { card } } })
    const orphans: number[] = []
    node.hapax.on('ledger_compared', (event) => orphans.push(event.orphans))
    await node.passAfter(24 * hours)
    await node.passAfter(24 * hours)
    // Each is read up to now, and from two hours before the last reading: one was left to settle, and one is read again.
    expect(windows.map(({ until }) => until - noon)).toEqual([0, 24 * hours, 48 * hours])
    expect(windows.map(({ since }) => since - noon)).toEqual([-26 * hours, -2 * hours, 22 * hours])
    expect(orphans).toEqual([1, 1])
  })

  test('is compared with ours: what it has and we have not is reported, and so is the reverse; every day, says the guide [S1-050]', async () => {
    const { file, hapax, gateway, ride } = await driving('lands')
    await rejection(ride())
    gateway.does = 'answers'
    await hapax.chores.reconcile(10)
    await ride()
    await file.setTime(noon + 2 * days)
    const [key = ''] = gateway.asked
    const same = await compareLedgers({ hapax, ledger: [{ key, id: 'ch_1' }] })
    expect([agree(same), same.compared]).toEqual([true, { provider: 1, ours: 1 }])
    const orphan = { key: 'somebody-charged-this', id: 'ch_2', amount: '12.00' }
    const more = await compareLedgers({ hapax, ledger: [{ key, id: 'ch_1' }, orphan] })
    expect(agree(more)).toBe(false)
    expect(more.orphans).toEqual({ count: 1, first: [orphan] })
    const less = await compareLedgers({ hapax, ledger: [] })
    expect(less.missing.first).toMatchObject([{ key, says: 'landed' }])
    expect(page('docs/guides/operating-workers.md')).toMatch(
      /## The daily comparison .*30 4 \* \* \* npx hapax reconcile/,
    )
  })
})

describe('a doubt', () => {
  test('that no poll ends is left to a person after so many, is found in the list, and ends by what that person says [S2-116]', async () => {
    const { file, store, hapax, gateway, ride, heard } = await driving('lands')
    expect(isHapaxError(await rejection(ride()), 'outcome_unknown')).toBe(true)
    gateway.says = 'nothing'
    let polls = 0
    for (; file.row('k').reconcile_after !== null; polls++) {
      expect(polls).toBeLessThan(limits.looks)
      await file.setTime(Number(file.row('k').reconcile_after))
      await hapax.chores.reconcile(10)
    }
    expect(polls).toBe(limits.looks)
    expect(heard.filter(({ name }) => name === 'left_to_operator')).toHaveLength(1)
    await file.setTime(Number(file.row('k').expires_at) + 300 * days)
    expect(await hapax.chores.reconcile(10)).toEqual([])
    expect(await hapax.chores.reap(10)).toEqual({ buried: 0, deleted: 0 })
    const { records } = await store.list({ state: 'unknown', limit: 10 })
    expect(records).toMatchObject([{ key: 'k', reconcileAfter: undefined }])

    const [downstreamKey = ''] = gateway.asked
    const result = { id: 'ch_1' }
    await hapax.testify({ downstreamKey, says: 'landed', result, by: 'operator:ada', why: 'seen in the dashboard' })
    expect(await ride()).toMatchObject({ value: { charge: { id: 'ch_1' } } })
    expect(JSON.parse(String(file.row('k').evidence))).toMatchObject([{ by: 'operator:ada', says: 'landed' }])
    expect(gateway.asked).toHaveLength(1)
  })

  test('is history in tables of its own: what was called, and what was said of it by whom, survives the reaping of the answer [S3-52]', async () => {
    const { file, hapax, gateway, ride } = await driving('lands')
    await rejection(ride())
    const [downstreamKey = ''] = gateway.asked
    const result = { id: 'ch_1' }
    await hapax.testify({ downstreamKey, says: 'landed', result, by: 'operator:ada', why: 'seen in the dashboard' })
    await ride()
    await file.setTime(noon + 30 * days)
    expect(await hapax.chores.reap(10)).toEqual({ buried: 1, deleted: 0 })
    expect(file.row('k')).toMatchObject({ status: 'expired', response_body: null })
    expect(file.sql('SELECT * FROM hapax_calls')).toMatchObject([
      { downstream_key: downstreamKey, scope_id: 'acme', operation: 'rides.create', state: 'landed', begun_at: noon },
    ])
    expect(file.sql('SELECT * FROM hapax_testimonies')).toMatchObject([
      { downstream_key: downstreamKey, said_by: 'operator:ada', why: 'seen in the dashboard', said_at: noon },
    ])
    // With the tombstone it goes, or it would be taken for the history of whoever uses the key anew.
    await file.setTime(noon + 61 * days)
    expect(await hapax.chores.reap(10)).toEqual({ buried: 0, deleted: 1 })
    expect(await hapax.calls?.find(downstreamKey)).toBeUndefined()
  })
})

/** Rides whose provider can only be asked, and does this with the first charge. */
async function driving(does: ChargingGateway['does']) {
  const file = await testFile()
  file.sql('CREATE TABLE rides (who TEXT NOT NULL) STRICT')
  file.sql('CREATE TABLE orders (who TEXT NOT NULL) STRICT')
  await file.setTime(noon)
  const gateway = await chargingGateway()
  gateway.does = does
  const node = file.node()
  const operation = rides(node.hapax, gateway.url, 'can be asked')
  return { ...node, file, gateway, ride: () => node.hapax.perform({ ...request, operation }) }
}
