import {
  type Fingerprint,
  keyOf,
  type LookedUp,
  limits,
  scopeOf,
  startWorkers,
  type WorkersOptions,
  workOnce,
} from 'hapax'
import { expect, onTestFinished, test } from 'vitest'
import { defaults, workerBounds } from '../../src/kernel/limits.js'
import { type Bench, bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

/** What the workers do for records, on a clock that stands until it is moved. */

const input = { cents: 500 }
const scope = 'acme'

/** Workers of a node, which stop with the test. */
function working(hapax: Bench['hapax'], options: Omit<WorkersOptions<never>, 'hapax'> = {}) {
  const workers = startWorkers({ hapax, ...options })
  onTestFinished(() => void workers.stop())
  return workers
}

/** Somebody takes a key and is never heard of again. */
async function crash({ faults }: Bench, key: string, onLeaseOver: 'resume' | 'doubt', leaseMs = 30_000): Promise<void> {
  const verdict = await faults.store.reserve({
    scope: scopeOf(scope),
    key: keyOf(key),
    claimId: key,
    operation: 'payments.create',
    fingerprints: ['1.test:aa' as Fingerprint],
    onLeaseOver,
    onExpired: 'run',
    onNew: 'take',
    leaseMs,
    retentionMs: 86_400_000,
    tombstoneMs: 86_400_000,
  })
  expect(verdict.kind).toBe('reserved')
}

test('a stuck key leaves in_progress within its lease and one interval of the sweeper', async () => {
  const bed = bench()
  working(bed.hapax)
  await bed.clock.advance(777)
  await crash(bed, 'k', 'doubt')
  await bed.clock.advance(30_000 - 1)
  expect((await bed.record('k'))?.state).toBe('in_progress')
  await bed.clock.advance(workerBounds.sweepMs + 1)
  expect((await bed.record('k'))?.state).toBe('unknown')
})

test('an operation whose client never returns is finished, and once, however many nodes race', async () => {
  const bed = bench()
  const ran: number[] = []
  const define = (hapax: Bench['hapax']) =>
    hapax.operation('payments.create', { version: 1, retention: '1d' }, async (work) => {
      ran.push(work.attempt)
      if (work.attempt === 1) throw new Error('the disk was full')
      return { status: 201, body: { paid: true } }
    })
  const operation = define(bed.hapax)
  await expect(bed.hapax.perform({ scope, key: 'k', operation, input })).rejects.toThrow()
  for (const node of [bed.another(), bed.another(), bed.another()]) {
    define(node)
    working(node)
  }
  await bed.clock.advance(10_000)
  expect(ran).toEqual([1, 2])
  expect(await bed.record('k')).toMatchObject({ state: 'completed', answer: { status: 201 } })
})

test('a call that failed is asked about, and where it landed the operation goes on without it', async () => {
  const { bed, calls, asked } = await doubtful(() => ({ landed: true, result: { id: 'ch_1' } }))
  working(bed.hapax)
  await bed.clock.advance(5_000)
  expect(await bed.record('k')).toMatchObject({ state: 'completed', evidence: [{ says: 'landed', by: 'reconciler' }] })
  expect({ calls: calls(), asked: asked().length }).toEqual({ calls: 1, asked: 1 })
})

test('that a call did not land is believed only after its time, and the provider’s lag, are over', async () => {
  const { bed, calls } = await doubtful(() => ({ landed: false }), { timeout: '10s', readLag: '20s' })
  working(bed.hapax)
  await bed.clock.advance(29_999)
  expect((await bed.record('k'))?.state).toBe('unknown')
  expect(calls()).toBe(1)
  await bed.clock.advance(workerBounds.reconcileMs + workerBounds.resumeMs + 2)
  expect((await bed.record('k'))?.state).toBe('completed')
  expect(calls()).toBe(2)
})

test('a provider that can never tell is asked so often, and then a person is: nobody asks again', async () => {
  const { bed, asked } = await doubtful(() => undefined)
  const left: string[] = []
  bed.hapax.on('left_to_operator', ({ errorCode }) => left.push(errorCode))
  working(bed.hapax, { sweeper: 'off', resumer: 'off', reaper: 'off', reconciler: { every: '30m' } })
  await bed.clock.advance(80 * 3_600_000)
  expect(asked()).toHaveLength(limits.looks)
  expect(left).toEqual(['looked_too_often'])
  expect(await bed.record('k')).toMatchObject({ state: 'unknown', reconcileAfter: undefined })
})

test('an outage of a provider counts against no doubt, slows the asking down, and ends when it answers', async () => {
  let isOut = true
  const { bed, asked } = await doubtful(() => {
    if (isOut) throw new Error('503')
    return { landed: true, result: { id: 'ch_1' } }
  })
  working(bed.hapax, { sweeper: 'off', reaper: 'off', reconciler: { every: '5s' }, resumer: { every: '1m' } })
  await bed.clock.advance(60_000)
  const early = asked().length
  expect(early).toBeGreaterThan(2)
  await bed.clock.advance(2 * 60 * 60_000)
  expect(asked().length - early).toBeLessThan(30)
  expect(await bed.record('k')).toMatchObject({ state: 'unknown', looks: 0, reconcileAfter: expect.any(Number) })
  isOut = false
  await bed.clock.advance(11 * 60_000)
  expect((await bed.record('k'))?.state).toBe('completed')
})

test('while the provider of one operation is out, that of another is asked as usual', async () => {
  const { bed, asked } = await doubtful(() => {
    throw new Error('503')
  })
  // The same engine, another operation: its provider answers.
  const other = bed.hapax.operation('refunds.create', { version: 1, retention: '1d' }, async (work) => {
    await work.call('refunded', { run: fails, lookup: () => ({ landed: true as const, result: 1 }) })
    return { status: 201 }
  })
  working(bed.hapax)
  await bed.clock.advance(60_000)
  await expect(bed.hapax.perform({ scope, key: 'other', operation: other, input })).rejects.toThrow()
  await bed.clock.advance(5_000)
  expect((await bed.record('other'))?.state).toBe('completed')
  expect(asked().length).toBeGreaterThan(0)
})

test('what is past retention is buried and then deleted in batches, and what lives stays', async () => {
  const bed = bench()
  const policy = bed.policy({ retention: '1h', tombstone: '2h' })
  const run = (key: string) => bed.hapax.run({ scope, key, policy }, async () => key)
  for (let n = 0; n < 25; n++) await run(`old-${n}`)
  await bed.clock.advance(3_600_000)
  await run('young')
  await crash(bed, 'held', 'doubt', 10 * 3_600_000)
  const reaped: number[] = []
  bed.hapax.on('reaped', ({ buried }) => reaped.push(buried))
  const workers = working(bed.hapax, { sweeper: 'off', resumer: 'off', reconciler: 'off', reaper: { batch: 10 } })
  await bed.clock.advance(1_000)
  expect(reaped).toEqual([10, 10, 5])
  expect((await bed.record('old-0'))?.state).toBe('expired')
  await bed.clock.advance(2 * 3_600_000 + 60_000)
  expect(await bed.record('old-0')).toBeUndefined()
  expect((await bed.record('held'))?.state).toBe('in_progress')
  expect(workers.status().find(({ name }) => name === 'reaper')?.lastPassAt).toBeGreaterThan(0)
})

test('stop lets an operation that runs finish, begins no other, and may be called twice', async () => {
  const bed = bench()
  const running = gate()
  const finish = gate()
  const begun: string[] = []
  const operation = bed.hapax.operation('payments.create', { version: 1, retention: '1d' }, async (work) => {
    if (work.attempt === 1) throw new Error('not yet')
    begun.push('one')
    running.open()
    await finish.opened
    return { status: 201 }
  })
  for (let n = 0; n < limits.itemsAtOnce + 4; n++)
    await expect(bed.hapax.perform({ scope, key: `k-${n}`, operation, input })).rejects.toThrow()
  const workers = startWorkers({ hapax: bed.hapax })
  await bed.clock.advance(5_000)
  await running.opened
  let isStopped = false
  const stopping = workers.stop().then(() => {
    isStopped = true
  })
  expect(workers.stop()).toBe(workers.stop())
  await bed.clock.advance(1_000)
  expect(isStopped).toBe(false)
  finish.open()
  await stopping
  expect(begun).toHaveLength(limits.itemsAtOnce)
  await bed.clock.advance(60_000)
  expect(begun).toHaveLength(limits.itemsAtOnce)
})

test('stop waits no longer than its bound for a handler that hangs', async () => {
  const bed = bench()
  const operation = bed.hapax.operation('payments.create', { version: 1, retention: '1d' }, (work) => {
    if (work.attempt === 1) throw new Error('not yet')
    return new Promise(() => {})
  })
  await expect(bed.hapax.perform({ scope, key: 'k', operation, input })).rejects.toThrow()
  const workers = startWorkers({ hapax: bed.hapax })
  await bed.clock.advance(5_000)
  let isStopped = false
  void workers.stop().then(() => {
    isStopped = true
  })
  await bed.clock.advance(defaults.drainMs + defaults.lastWordsMs - 1)
  expect(isStopped).toBe(false)
  await bed.clock.advance(1)
  expect(isStopped).toBe(true)
})

test('a store that fails is told by event and status, and does not end the workers', async () => {
  const bed = bench()
  const workers = working(bed.hapax, { reaper: 'off' })
  await bed.clock.advance(100)
  bed.faults.breakAt('sweep', 'before')
  await bed.clock.advance(5_000)
  const sweeper = () => workers.status().find(({ name }) => name === 'sweeper')
  expect(sweeper()?.lastError).toMatchObject({ code: 'store_failed' })
  expect(bed.events).toContain('worker_failed')
  bed.faults.mend()
  await bed.clock.advance(60_000)
  expect(sweeper()?.lastError).toBeUndefined()
})

test('one pass of each is made on demand, and says what it did, or why it could not', async () => {
  const bed = bench()
  await crash(bed, 'k', 'doubt', 1_000)
  await bed.clock.advance(1_000)
  bed.faults.breakAt('reap', 'before')
  const done = await workOnce({ hapax: bed.hapax })
  expect(done.map(({ name }) => name)).toEqual(['sweeper', 'reconciler', 'resumer', 'reaper'])
  expect(done[0]).toEqual({ name: 'sweeper', did: { swept: 1 } })
  expect(done[3]).toMatchObject({ name: 'reaper', error: { code: 'store_failed' } })
  const only = await workOnce({ hapax: bed.hapax, reaper: 'off', resumer: 'off', reconciler: 'off' })
  expect(only).toEqual([{ name: 'sweeper', did: {} }])
})

test.each([
  [{ sweeper: { every: '0ms' } }, /sweeper: every/],
  [{ sweeper: { every: 'often' } }, /sweeper: every is "often"/],
  [{ resumer: { batch: 0 } }, /resumer: batch is 0/],
  [{ reconciler: { batch: 1.5 } }, /reconciler: batch/],
  [{ reaper: { batch: 100_000 } }, /1 to 1000/],
  [{ reaper: { keepEvent: '1d' } }, /reaper: keepEvent is not an option/],
  [{ reaper: 'on' }, /reaper is 'off', or an object/],
  [{ sweepr: {} }, /sweepr is not an option/],
  [{ hapax: {} }, /needs the engine/],
])('options that make no sense are refused at start: %j', (options, says) => {
  const given = { hapax: bench().hapax, ...options } as never
  expect(() => startWorkers(given)).toThrow(says)
  expect(() => startWorkers(given)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
})

const fails = () => {
  throw new Error('socket hang up')
}

/** An operation whose first call fails, so that nobody knows what became of it; its provider answers as the test says. */
async function doubtful(
  lookup: () => LookedUp<unknown> | undefined,
  about: { readonly timeout?: '10s'; readonly readLag?: '20s' } = {},
) {
  const bed = bench()
  const asked: number[] = []
  let calls = 0
  const operation = bed.hapax.operation('payments.create', { version: 1, retention: '1d' }, async (work) => {
    await work.call('charged', {
      ...about,
      run: () => (++calls === 1 ? fails() : { id: 'ch_2' }),
      lookup() {
        asked.push(bed.clock.elapsed())
        return lookup()
      },
    })
    return { status: 201 }
  })
  await expect(bed.hapax.perform({ scope, key: 'k', operation, input })).rejects.toThrow()
  expect((await bed.record('k'))?.state).toBe('unknown')
  return { bed, calls: () => calls, asked: () => asked }
}
