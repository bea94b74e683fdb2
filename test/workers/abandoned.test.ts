import { workOnce } from 'hapax'
import { adminApi, everything } from 'hapax/admin'
import { expect, onTestFinished, test } from 'vitest'
import { limits } from '../../src/kernel/limits.js'
import { rejection, until } from '../support/waiting.js'
import { insertRide, never, request, type WorkBench, workBench } from '../support/work-bench.js'

/** What is half-done past its retention, and nobody goes on with: the reaper leaves it to a person, who settles it. */

const hour = 3_600_000
const day = 24 * hour

/** A handler that nobody could go on with in the background: one phase, and then its process is gone, or it is not. */
function ride({ hapax, policy }: Pick<WorkBench, 'hapax' | 'policy'>, then: () => Promise<unknown>): Promise<unknown> {
  return hapax.run({ scope: 'acme', key: 'k', policy }, async (work) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx as never, 'ann'))
    await then()
    return ride
  })
}

async function rideOfTheDead(bench: WorkBench): Promise<void> {
  const dead = bench.node()
  void ride({ hapax: dead, policy: dead.policy({ name: 'rides.create' }) }, never)
  await until(bench.record, (record) => record?.recoveryPoint === 'ride_created')
}

const reaperOf = (done: Awaited<ReturnType<typeof workOnce>>) => done.find(({ name }) => name === 'reaper')

/** What a person is shown, and says. */
function desk({ hapax }: WorkBench) {
  const api = adminApi({ hapax, authorize: () => ({ who: 'ann', may: everything }) })
  onTestFinished(() => api.close())
  const get = async (path: string) => (await (await api(new Request(`http://admin${path}`))).json()) as never
  return {
    stats: async () => (await get('/stats')) as { unknown: object },
    left: async () => ((await get('/records?state=unknown')) as { items: object[] }).items,
    story: async () => (await get('/records/story?scope=acme&key=k')) as { sentences: string[] },
    async settle(says: object) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
      const body = { scope: 'acme', key: 'k', ...says, evidence: 'the log ends there', reason: 'ticket 4711' }
      const asked = new Request('http://admin/records/settle', { method: 'POST', headers, body: JSON.stringify(body) })
      return (await api(asked)).status
    },
  }
}

const left = ({ events }: WorkBench) => events.filter(({ name }) => name === 'left_to_operator')

test('a handler whose process is gone after a phase, and whose client never returns, comes to a person after its retention, and then goes on', async () => {
  const bench = await workBench()
  const { stats, story, settle, left: queue } = desk(bench)
  await rideOfTheDead(bench)
  await bench.travel(day - 1)
  await workOnce({ hapax: bench.hapax })
  expect(await bench.record()).toMatchObject({ state: 'in_progress', attempt: 1 })
  expect(left(bench)).toEqual([])

  await bench.travel(1)
  expect(reaperOf(await workOnce({ hapax: bench.hapax }))).toEqual({ name: 'reaper', did: { left_to_operator: 1 } })
  expect(left(bench)).toEqual([expect.objectContaining({ operation: 'rides.create', errorCode: 'abandoned' })])
  expect((await stats()).unknown).toMatchObject({ count: 1, left_to_operator: 1 })
  expect(await queue()).toMatchObject([{ key: 'k', left_to_operator: true, error_code: 'abandoned' }])
  const since = new Date(bench.clock.now()).toISOString()
  expect((await story()).sentences).toEqual(
    expect.arrayContaining([
      'These phases have committed: ride_created.',
      `Nobody knows since ${since} whether it took effect: it stopped in the middle, its retention has passed, and nobody came back to go on with it (abandoned).`,
      'Nobody but a person looks at it any more.',
      'What has committed stays. Settle it: not_landed lets it go on from "ride_created", an operation by itself and any other with its next retry; completed gives its answer, if you have finished or undone it by hand.',
    ]),
  )

  expect(await rejection(ride(bench, async () => {}))).toMatchObject({ code: 'outcome_unknown' })
  await bench.travel(10 * day)
  expect(reaperOf(await workOnce({ hapax: bench.hapax }))).toEqual({ name: 'reaper', did: {} })
  expect(await settle({ says: 'not_landed' })).toBe(200)
  expect(await ride(bench, async () => {})).toMatchObject({ value: { name: 'ann' }, replayed: false })
  expect(await bench.record()).toMatchObject({ state: 'completed', attempt: 2, fence: 2 })
  expect(await bench.rides()).toEqual(['ann'])
})

test('who was only slow answers it after all, and a person may answer it too', async () => {
  for (const says of [undefined, { says: 'completed', answer: { status: 201, body: { ride: 7 } } }]) {
    const bench = await workBench()
    let finish = () => {}
    const slow = bench.node()
    const ran = ride({ hapax: slow, policy: slow.policy({ name: 'rides.create' }) }, () => {
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    await until(bench.record, (record) => record?.recoveryPoint === 'ride_created')
    await bench.travel(day)
    await workOnce({ hapax: bench.hapax })
    expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'abandoned' })
    if (says !== undefined) expect(await desk(bench).settle(says)).toBe(200)
    finish()
    await ran.catch(() => {})
    expect(await bench.record()).toMatchObject({ state: 'completed', attempt: 1 })
    expect(await bench.rides()).toEqual(['ann'])
  }
})

test('half-done work that failed and is not tried again comes to a person, and what the client goes on with does not', async () => {
  const bench = await workBench()
  const fails = () => Promise.reject(new Error('out of luck'))
  await rejection(ride(bench, fails))
  await bench.travel(day - 1)
  await rejection(ride(bench, fails))
  await bench.travel(day - 1)
  expect(reaperOf(await workOnce({ hapax: bench.hapax }))).toEqual({ name: 'reaper', did: {} })
  await bench.travel(1)
  expect(reaperOf(await workOnce({ hapax: bench.hapax }))).toEqual({ name: 'reaper', did: { left_to_operator: 1 } })
  expect(await bench.record()).toMatchObject({ state: 'unknown', attempt: 2 })
})

test('what nobody comes back for after it was settled comes to a person once more', async () => {
  const bench = await workBench()
  await rideOfTheDead(bench)
  await bench.travel(day)
  await workOnce({ hapax: bench.hapax })
  await bench.travel(hour)
  expect(await desk(bench).settle({ says: 'not_landed' })).toBe(200)
  await bench.travel(day - 1)
  await workOnce({ hapax: bench.hapax })
  expect(left(bench)).toHaveLength(1)
  await bench.travel(1)
  await workOnce({ hapax: bench.hapax })
  expect(left(bench)).toHaveLength(2)
})

test('an operation is finished by workers, however late, and comes to a person once they have given it up', async () => {
  const bench = await workBench()
  let isBroken = true
  const operation = bench.hapax.operation('rides.create', { version: 1 }, async (work) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
    if (isBroken) throw new Error('out of luck')
    return work.commit(() => ({ status: 201, body: ride }))
  })
  await rejection(bench.hapax.perform({ ...request, operation }))
  for (let round = 1; round < limits.resumeAttempts; round++) {
    // Past its retention each time: no worker was there for so long.
    await bench.travel(2 * day)
    await workOnce({ hapax: bench.hapax, resumer: 'off' })
    await bench.hapax.chores.resume(10)
  }
  expect(left(bench).map((event) => 'errorCode' in event && event.errorCode)).toEqual(['resumed_too_often'])
  await bench.travel(day)
  await workOnce({ hapax: bench.hapax })
  expect(await bench.record()).toMatchObject({ state: 'unknown', errorCode: 'abandoned', reconcileAfter: undefined })
  expect(left(bench)).toHaveLength(2)

  isBroken = false
  await bench.travel(hour)
  expect(await desk(bench).settle({ says: 'not_landed' })).toBe(200)
  expect((await bench.hapax.perform({ ...request, operation })).value).toEqual({ name: 'ann' })
  expect(await bench.rides()).toEqual(['ann'])
})
