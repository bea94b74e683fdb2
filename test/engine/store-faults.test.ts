import { engine, limits } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate, rejection } from '../support/waiting.js'

const request = { scope: 'acme', key: 'k-1', input: 1 }

describe('a store that is down when the key is reserved', () => {
  test('refuses the request before anything runs', async () => {
    const { hapax, policy, faults, events } = bench()
    faults.breakAt('reserve', 'before')
    let runs = 0
    const refused = hapax.run({ ...request, policy: policy() }, async () => ++runs)
    await expect(refused).rejects.toMatchObject({ code: 'idempotency_store_unavailable', retryable: true })
    expect(runs).toBe(0)
    expect(events).toContain('store_failed')
  })

  test('is told of with what it threw, and stands in the log once in a while, not once per request', async () => {
    const { hapax, policy, faults, clock, logged } = bench()
    const causes: unknown[] = []
    hapax.on('store_failed', ({ cause }) => causes.push(cause))
    faults.breakAt('reserve', 'before')
    const refused = () => rejection(hapax.run({ ...request, policy: policy() }, async () => 'ran'))
    const error = await refused()
    expect(error).toMatchObject({ cause: { code: 'store_failed', message: 'the connection was refused' } })
    await refused()
    const lines = () => logged.filter(({ code }) => code === 'store_failed').map(({ message }) => message)
    expect(lines()).toEqual(['the store failed at "reserve": HapaxError: the connection was refused'])
    expect(causes.length).toBeGreaterThan(1)
    expect(new Set(causes)).toContain((error as Error).cause)
    await clock.advance(10_000)
    await refused()
    expect(lines()).toHaveLength(2)
  })

  test('refuses in bounded time even when it never answers', async () => {
    const { hapax, policy, faults, clock } = bench()
    faults.breakAt('reserve', 'hangs')
    const refused = hapax.run({ ...request, policy: policy() }, async () => 'ran')
    const ended = expect(refused).rejects.toMatchObject({ code: 'idempotency_store_unavailable' })
    await clock.advance(5_000)
    await ended
    faults.mend()
  })

  test('recognises a reservation whose reply was lost, and runs it once', async () => {
    const { hapax, policy, faults, record } = bench()
    faults.breakAt('reserve', 'after', 1)
    expect(await hapax.run({ ...request, policy: policy() }, async () => 'ran')).toMatchObject({
      value: 'ran',
      replayed: false,
    })
    expect(await record('k-1')).toMatchObject({ state: 'completed', fence: 1, attempt: 1 })
  })

  test('takes back a reservation that stood although nothing ran, so that it leaves no doubt', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    faults.breakAt('reserve', 'after')
    await expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    expect((await record('k-1'))?.state).toBe('in_progress')
    faults.mend()
    await clock.advance(1_000)
    expect(await record('k-1')).toBeUndefined()
    expect(await hapax.run({ ...request, policy: policy() }, async () => 'ran')).toMatchObject({ value: 'ran' })
  })

  test('takes back a reservation that landed after its request had been refused', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    faults.breakAt('reserve', 'hangs')
    faults.breakAt('find', 'before')
    const ended = expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    await clock.advance(5_000)
    await ended
    faults.mend()
    await clock.advance(20_000)
    expect(await record('k-1')).toBeUndefined()
  })
})

describe('reservations that nobody heard of', () => {
  test('are taken back though their request met another, which then gave the key back', async () => {
    const memory = memoryStore()
    let isOnItsWay = false
    let land = async (): Promise<unknown> => undefined
    const { hapax, policy, clock, record } = bench({
      ...memory,
      async reserve(reservation) {
        if (!isOnItsWay) return memory.reserve(reservation)
        isOnItsWay = false
        land = async () => memory.reserve(reservation)
        throw new Error('the line broke')
      },
    })
    const guarded = { ...request, policy: policy() }
    const end = gate<string>()
    const first = hapax.run(guarded, () => end.opened).catch(() => undefined)
    await clock.settle()
    const holder = await record('k-1')
    if (holder === undefined) throw new Error('nobody has the key')
    isOnItsWay = true
    await expect(hapax.run(guarded, async () => 'ran')).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await memory.release(holder)
    await land()
    expect((await record('k-1'))?.claimId).not.toBe(holder.claimId)
    await clock.advance(1_000)
    expect(await record('k-1')).toBeUndefined()
    end.open('ran')
    await first
  })

  test('are taken back even if they land after somebody looked and found nothing', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    faults.breakAt('reserve', 'hangs', 1)
    const ended = expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    await clock.advance(10_000)
    await ended
    expect(faults.asked.get('find')).toBeGreaterThan(0)
    faults.mend()
    await clock.settle()
    expect((await record('k-1'))?.state).toBe('in_progress')
    await clock.advance(10_000)
    expect(await record('k-1')).toBeUndefined()
  })

  test('are taken back as often as they land', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    faults.breakAt('reserve', 'after', 1)
    const refused = expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    faults.breakAt('reserve', 'hangs', 2)
    await clock.advance(10_000)
    await refused
    faults.mend()
    await clock.advance(10_000)
    expect(await record('k-1')).toBeUndefined()
  })

  test('are looked for by one loop, in bounded number, however many requests an outage refuses', async () => {
    const { hapax, policy, faults, clock } = bench()
    faults.breakAt('reserve', 'before')
    const payments = policy()
    const refused = Array.from({ length: 2 * limits.abandoned }, (_, n) =>
      hapax.run({ scope: 'acme', key: `k-${n}`, policy: payments }, async () => n).catch(() => 'refused'),
    )
    await Promise.all(refused)
    await clock.advance(60_000)
    const looked = faults.asked.get('find') ?? 0
    expect(looked).toBeGreaterThan(0)
    expect(looked % limits.abandoned).toBe(0)
    await clock.advance(60_000)
    expect(faults.asked.get('find')).toBe(looked)
  })

  test('are none when the store says that it is busy: nothing happened, and nothing is asked twice', async () => {
    const { hapax, policy, faults, clock } = bench()
    faults.breakAt('reserve', 'busy')
    const busy = hapax.run({ ...request, policy: policy({ dangerouslyFailOpen: true }) }, async () => 'ran')
    await expect(busy).rejects.toMatchObject({ code: 'store_busy', retryable: true })
    await clock.advance(10_000)
    expect(faults.asked.get('reserve')).toBe(1)
    expect(faults.asked.get('find')).toBeUndefined()
  })
})

describe('a store that fails after the handler acted', () => {
  test('never releases the key: the caller is told to come back, and the answer is stored later', async () => {
    const { hapax, policy, faults, clock, record, events } = bench()
    const guarded = { ...request, policy: policy() }
    faults.breakAt('complete', 'before')
    await expect(hapax.run(guarded, async () => 'charged')).rejects.toMatchObject({
      code: 'answer_not_stored',
      retryable: true,
    })
    expect((await record('k-1'))?.state).toBe('in_progress')
    await clock.advance(120_000)
    expect((await record('k-1'))?.state).toBe('in_progress')
    await expect(hapax.run(guarded, async () => 'again')).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    faults.mend()
    await clock.advance(5_000)
    expect(await hapax.run(guarded, async () => 'again')).toMatchObject({ value: 'charged', replayed: true })
    expect(events).toContain('completed_late')
  })

  test('leaves doubt when the process gives up, never a key that is free', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    const guarded = { ...request, policy: policy({ maxRun: '1m' }) }
    faults.breakAt('complete', 'before')
    await expect(hapax.run(guarded, async () => 'charged')).rejects.toMatchObject({ code: 'answer_not_stored' })
    await clock.advance(120_000)
    faults.mend()
    await expect(hapax.run(guarded, async () => 'again')).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect((await record('k-1'))?.state).toBe('unknown')
  })

  test('whose reply to the completion was lost gives the caller the answer on the next try', async () => {
    const { hapax, policy, faults, clock } = bench()
    const guarded = { ...request, policy: policy() }
    faults.breakAt('complete', 'after', 1)
    await expect(hapax.run(guarded, async () => 'charged')).rejects.toMatchObject({ code: 'answer_not_stored' })
    expect(await hapax.run(guarded, async () => 'again')).toMatchObject({ value: 'charged', replayed: true })
    await clock.advance(1_000)
    expect(await hapax.run(guarded, async () => 'again')).toMatchObject({ value: 'charged', replayed: true })
  })

  test('does not hide the error of a handler that threw', async () => {
    const { hapax, policy, faults, clock, record } = bench()
    faults.breakAt('fail', 'before')
    await expect(hapax.run({ ...request, policy: policy() }, () => Promise.reject(new Error('mine')))).rejects.toThrow(
      'mine',
    )
    faults.mend()
    await clock.advance(5_000)
    expect((await record('k-1'))?.state).toBe('failed_retryable')
  })
})

describe('a policy that fails open', () => {
  test('says so at start, and runs without protection while the store is down, counted and logged', async () => {
    const { hapax, policy, faults, events, logged } = bench()
    const guarded = { ...request, policy: policy({ dangerouslyFailOpen: true }) }
    expect(logged.map(({ code }) => code)).toEqual(['fails_open'])
    faults.breakAt('reserve', 'before')
    expect(await hapax.run(guarded, async () => 'ran anyway')).toMatchObject({
      value: 'ran anyway',
      replayed: false,
      generation: 0,
    })
    expect(events).toContain('ran_unprotected')
    expect(logged.at(-1)).toMatchObject({ level: 'error', code: 'ran_unprotected' })
  })

  test('takes a handler that answers at once, and still closes cleanly', async () => {
    const { hapax, policy, faults } = bench()
    faults.breakAt('reserve', 'before')
    const guarded = { ...request, policy: policy({ dangerouslyFailOpen: true }) }
    const atOnce = (() => 'ran anyway') as unknown as () => Promise<string>
    expect(await hapax.run(guarded, atOnce)).toMatchObject({ value: 'ran anyway' })
    faults.mend()
    await hapax.close()
  })

  test('guards as usual while the store is up', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy({ dangerouslyFailOpen: true }) }
    await hapax.run(guarded, async () => 'first')
    expect(await hapax.run(guarded, async () => 'second')).toMatchObject({ value: 'first', replayed: true })
  })
})

describe('a store that cannot be opened', () => {
  test('is named at start, refuses requests, and is tried again by the next one', async () => {
    const { policy, faults, clock, logged } = bench()
    const hapax = engine({ store: faults.store, clock, log: (entry) => logged.push(entry) })
    faults.breakAt('open', 'before', 2)
    await expect(hapax.open()).rejects.toMatchObject({ code: 'store_failed' })
    await expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    expect(await hapax.run({ ...request, policy: policy() }, async () => 'ran')).toMatchObject({ value: 'ran' })
  })
})

test('a store that hangs while it opens or closes is waited for in bounded time', async () => {
  const { policy, faults, clock, logged } = bench()
  const hapax = engine({ store: faults.store, clock, log: (entry) => logged.push(entry) })
  faults.breakAt('open', 'hangs')
  const ended = expect(hapax.run({ ...request, policy: policy() }, async () => 'ran')).rejects.toMatchObject({
    code: 'idempotency_store_unavailable',
  })
  await clock.advance(5_000)
  await ended
  faults.mend()
  faults.breakAt('close', 'hangs')
  const closed = expect(hapax.close()).rejects.toMatchObject({ code: 'store_failed' })
  await clock.advance(60_000)
  await closed
})

describe('an engine that closes', () => {
  test('starts no handler once it has ended, not even for one that waited', async () => {
    const { hapax, policy, clock, record } = bench()
    const guarded = { ...request, policy: policy({ concurrency: 'wait', waitFor: '30s' }) }
    const runs: string[] = []
    const stopped = (name: string, signal: AbortSignal) =>
      new Promise((_, reject) => {
        runs.push(name)
        signal.addEventListener('abort', () => reject(new Error('stopped')))
      })
    const first = expect(hapax.run(guarded, ({ signal }) => stopped('first', signal))).rejects.toThrow('stopped')
    await clock.settle()
    const waiting = expect(hapax.run(guarded, ({ signal }) => stopped('second', signal))).rejects.toMatchObject({
      code: 'engine_closed',
    })
    await clock.settle()
    const closing = hapax.close()
    await clock.advance(12_000)
    await Promise.all([first, waiting, closing])
    expect(runs).toEqual(['first'])
    expect((await record('k-1'))?.state).toBe('failed_retryable')
  })

  test('gives back a reservation that nobody heard of', async () => {
    const { hapax, policy, clock, faults, record } = bench()
    faults.breakAt('reserve', 'after')
    const refused = hapax.run({ ...request, policy: policy() }, async () => 'ran')
    await expect(refused).rejects.toMatchObject({ code: 'idempotency_store_unavailable' })
    faults.mend()
    const closing = hapax.close()
    await clock.settle()
    await closing
    expect(await record('k-1')).toBeUndefined()
  })

  test('lets a handler that listens write down how it ended', async () => {
    const { hapax, policy, clock, record } = bench()
    const stopping = hapax.run(
      { ...request, policy: policy() },
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('stopped')))
        }),
    )
    const ended = expect(stopping).rejects.toThrow('stopped')
    await clock.settle()
    const closing = hapax.close()
    await clock.advance(12_000)
    await closing
    await ended
    expect((await record('k-1'))?.state).toBe('failed_retryable')
  })

  test('lets what runs finish, takes nothing new, and closes its store last', async () => {
    const { hapax, policy, faults, clock } = bench()
    const guarded = { ...request, policy: policy() }
    const { opened, open } = gate<string>()
    const running = hapax.run(guarded, () => opened)
    await clock.settle()
    const closing = hapax.close()
    await expect(hapax.run({ ...guarded, key: 'k-2' }, async () => 'new')).rejects.toMatchObject({
      code: 'engine_closed',
    })
    expect(faults.asked.get('close')).toBeUndefined()
    open('finished')
    expect(await running).toMatchObject({ value: 'finished' })
    await closing
    expect(faults.asked.get('close')).toBe(1)
  })

  test('does not wait for ever: a hung handler hears it and its lease is left to run out', async () => {
    const { hapax, policy, clock, faults } = bench()
    let signal: AbortSignal | undefined
    void hapax
      .run({ ...request, policy: policy() }, (work) => {
        signal = work.signal
        return gate().opened
      })
      .catch(() => {})
    await clock.settle()
    const closing = hapax.close()
    await clock.advance(12_000)
    await closing
    expect(signal?.aborted).toBe(true)
    const renewals = faults.asked.get('renew') ?? 0
    await clock.advance(60_000)
    expect(faults.asked.get('renew') ?? 0).toBe(renewals)
  })
})

const failing = () => {
  throw new TypeError('metrics are down')
}

test.each([
  ['throws', failing],
  ['rejects', async () => failing()],
])('a listener that %s is reported and disturbs nothing', async (_, listener) => {
  const { hapax, policy, logged } = bench()
  hapax.on('reserved', listener)
  expect(await hapax.run({ ...request, policy: policy() }, async () => 'ran')).toMatchObject({ value: 'ran' })
  expect(logged).toEqual([{ level: 'error', code: 'listener_failed', message: expect.stringContaining('TypeError') }])
})
