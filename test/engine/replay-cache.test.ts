import fc from 'fast-check'
import {
  type CachedReplay,
  type Done,
  type EngineOptions,
  engine,
  type Guarded,
  keyOf,
  type Outcome,
  type Policy,
  type RecordName,
  type ReplayCache,
  type Store,
  scopeOf,
} from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { recentReplays } from '../../dist/engine/recent-replays.js'
import { replayCacheBounds } from '../../dist/kernel/limits.js'
import { type Bench, bench } from '../support/bench.js'
import { type ManualClock, manualClock } from '../support/manual-clock.js'

const request = { scope: 'acme', key: 'k', input: { amount: 1 } }
const short = { allowShortRetention: true, maxRun: '1s', lease: '500ms' } as const
const { maxAgeMs, answerBytes, answerMs, restMs } = replayCacheBounds

/** An engine that runs a handler, and how often that has run. */
function guarded(given: Bench, options: Parameters<Bench['policy']>[0] = {}) {
  const policy = given.policy(options)
  let runs = 0
  const run = (over: Partial<typeof request> = {}, value: unknown = () => ({ run: runs })) =>
    given.hapax.run({ ...request, ...over, policy }, async () => {
      runs++
      return typeof value === 'function' ? value() : value
    }) as Promise<Done<unknown>>
  return { run, runs: () => runs, reserves: () => given.faults.asked.get('reserve') ?? 0 }
}

function cached(replayCache: EngineOptions<never>['replayCache'] = {}) {
  return bench(undefined, { replayCache })
}

describe('a recent answer', () => {
  test('is given again without asking the store, even while that is down', async () => {
    const given = cached()
    const { run, runs, reserves } = guarded(given)
    const first = await run()
    given.faults.breakAt('reserve', 'before')
    expect(await run()).toEqual({ ...first, replayed: true })
    expect([runs(), reserves()]).toEqual([1, 1])
    await expect(run({ key: 'another' })).rejects.toMatchObject({ code: 'idempotency_store_unavailable' })
  })

  test('is one that this node made, or one that the store has told it', async () => {
    const given = cached()
    await given.another().run({ ...request, policy: given.policy() }, async () => 'made elsewhere')
    const { run, reserves } = guarded(given)
    const before = reserves()
    expect(await run()).toMatchObject({ value: 'made elsewhere', replayed: true })
    expect(await run()).toMatchObject({ value: 'made elsewhere', replayed: true })
    expect(reserves() - before).toBe(1)
  })

  test('says in its event that the store was not asked', async () => {
    const given = cached()
    const told: unknown[] = []
    given.hapax.on('replayed', ({ from }) => told.push(from))
    const { run } = guarded(given)
    await run()
    await run()
    await given.clock.advance(maxAgeMs)
    await run()
    expect(told).toEqual(['cache', 'store'])
  })

  test('is asked for again once it is some seconds old', async () => {
    const given = cached()
    const { run, reserves } = guarded(given)
    await run()
    await given.clock.advance(maxAgeMs - 1)
    await run()
    expect(reserves()).toBe(1)
    await given.clock.advance(1)
    expect(await run()).toMatchObject({ replayed: true })
    expect(reserves()).toBe(2)
  })

  test('is as old as the question to the store, however late that answered', async () => {
    const given = cached()
    await given.another().run({ ...request, policy: given.policy() }, async () => 1)
    const { run, reserves } = guarded(given)
    given.faults.breakAt('reserve', 'late', 1)
    const late = run()
    await given.clock.advance(maxAgeMs - 1)
    given.faults.mend()
    await late
    const before = reserves()
    await given.clock.advance(1)
    await run()
    expect(reserves() - before).toBe(1)
  })

  test('is never given past its retention: the key is used anew, and has the new answer from then on', async () => {
    const given = cached()
    const { run } = guarded(given, { ...short, retention: '2s' })
    expect(await run()).toMatchObject({ value: { run: 1 }, generation: 1 })
    await given.clock.advance(1_999)
    expect(await run()).toMatchObject({ value: { run: 1 }, replayed: true })
    await given.clock.advance(1)
    expect(await run()).toMatchObject({ value: { run: 2 }, generation: 2, replayed: false })
    expect(await run()).toMatchObject({ value: { run: 2 }, generation: 2, replayed: true })
  })

  test('that the store told shortly before its retention is over is not given past it', async () => {
    const given = cached()
    const policy = { ...short, retention: '10s' } as const
    await given.another().run({ ...request, policy: given.policy(policy) }, async () => 'of the first')
    await given.clock.advance(9_000)
    const { run } = guarded(given, policy)
    expect(await run()).toMatchObject({ value: 'of the first', replayed: true })
    await given.clock.advance(1_000)
    expect(await run()).toMatchObject({ generation: 2, replayed: false })
  })

  test('is not given to another request: that is told so, without asking the store', async () => {
    const given = cached()
    const { run, runs, reserves } = guarded(given)
    await run()
    await expect(run({ input: { amount: 2 } })).rejects.toMatchObject({
      code: 'idempotency_key_reused_with_different_payload',
    })
    expect([runs(), reserves()]).toEqual([1, 1])
    expect(given.events).toContain('mismatched')
  })

  test('is not compared under another recipe here: the store is asked', async () => {
    const given = cached()
    await guarded(given).run()
    const secret = { keys: { a: new Uint8Array(32) }, current: 'a' }
    const { run, reserves } = guarded(given, { fingerprint: { secret } })
    expect(await run()).toMatchObject({ replayed: true })
    expect(reserves()).toBe(3)
  })

  test('is not given to another tenant with the same key', async () => {
    const given = cached()
    const { run } = guarded(given)
    await run()
    expect(await run({ scope: 'globex' })).toMatchObject({ value: { run: 2 }, replayed: false })
  })

  test('is what it was, whatever its receivers do to its bytes', async () => {
    const { hapax, policy } = cached()
    for (let time = 0; time < 3; time++) {
      const body = bodyOf(await hapax.execute(asExecuted(policy())))
      expect(body.toString()).toBe('the answer')
      body.fill(0)
    }
  })

  test('is upgraded as one that the store gave', async () => {
    const given = cached()
    await guarded(given).run({}, 'old')
    const upgradeAnswer = (answer: { status: number; headers: []; body: Uint8Array }) => ({
      ...answer,
      body: Buffer.from('"new"'),
    })
    const { run, reserves } = guarded(given, { answerVersion: 2, upgradeAnswer: upgradeAnswer as never })
    expect(await run()).toMatchObject({ value: 'new', replayed: true })
    expect(reserves()).toBe(1)
  })

  test('counts as a replay where those are limited', async () => {
    const given = bench(undefined, { replayCache: {}, replays: { most: 1, per: '1m' } })
    const { run } = guarded(given)
    await run()
    await run()
    await expect(run()).rejects.toMatchObject({ code: 'rate_exceeded' })
  })
})

function asExecuted(policy: Policy): Guarded<never> {
  const answer = () => ({ status: 200, headers: [], body: Buffer.from('the answer') })
  return {
    scope: scopeOf('acme'),
    key: keyOf('k'),
    policy,
    source: { subject: ['POST', '/payments'], mediaType: 'application/json', body: Buffer.from('{}') },
    handler: async () => undefined,
    toAnswer: answer,
    errorToAnswer: answer,
  }
}

/** The bytes as they were given, and no copy of them. */
function bodyOf(outcome: Outcome): Buffer {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'kept') throw new Error('it was not answered')
  return outcome.answer.body as Buffer
}

describe('what is never kept', () => {
  test('is an answer that is not for good', async () => {
    const given = cached()
    const { run, runs } = guarded(given)
    const fail = () => {
      throw new Error('not today')
    }
    await expect(run({}, fail)).rejects.toThrow('not today')
    await expect(run({}, fail)).rejects.toThrow('not today')
    expect(runs()).toBe(2)
  })

  test('is an answer whose write nobody has acknowledged', async () => {
    const given = cached()
    const { run, reserves } = guarded(given)
    given.faults.breakAt('complete', 'before', 1)
    await expect(run()).rejects.toMatchObject({ code: 'answer_not_stored' })
    await expect(run()).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await given.clock.advance(1_000)
    expect(await run()).toMatchObject({ replayed: true })
    expect(reserves()).toBe(2)
  })

  test('is an answer over a size: the store is asked for it each time', async () => {
    const given = cached()
    const { run, reserves } = guarded(given)
    const large = 'x'.repeat(answerBytes)
    await run({}, large)
    expect(await run()).toMatchObject({ value: large, replayed: true })
    await run()
    expect(reserves()).toBe(3)
  })

  test('is anything in front of a store that is no slower, or where it is off', async () => {
    for (const replayCache of [undefined, 'off'] as const) {
      const given = bench(undefined, replayCache && { replayCache })
      const { run, reserves } = guarded(given)
      await run()
      await run()
      expect(reserves()).toBe(2)
    }
    await expect(reservesOn('transactional')).resolves.toBe(1)
    await expect(reservesOn('atomic')).resolves.toBe(1)
  })
})

/** How often a store of this grade is asked for a key that comes twice. */
async function reservesOn(grade: Store['grade']): Promise<number> {
  const given = bench({ ...memoryStore(), grade })
  const { run, reserves } = guarded(given)
  await run()
  await run()
  return reserves()
}

test('options that make no sense are told of at start', () => {
  const make = (replayCache: unknown) => () =>
    engine({ store: memoryStore(), replayCache: replayCache as NonNullable<EngineOptions<never>['replayCache']> })
  expect(make({ bytes: -1 })).toThrow('replayCache.bytes is -1')
  expect(make({ bytes: 1.5 })).toThrow('replayCache.bytes is 1.5')
  expect(make({ maxAge: '2m' })).toThrow('replayCache.maxAge is 2m')
  expect(make({ maxAge: 'soon' })).toThrow('replayCache.maxAge')
  expect(make({ shared: {} })).toThrow('replayCache.shared is no cache')
})

describe('what a process keeps', () => {
  const replay = (key: string, generation = 1, body = 'x') =>
    ({
      scope: 'acme',
      key,
      generation,
      operation: 'payments.create',
      fingerprint: '1:aa',
      answer: { kind: 'kept', status: 200, headers: [['a', 'b']], body: Buffer.from(body) },
      answerVersion: 1,
      expiresAt: undefined,
    }) as unknown as CachedReplay['replay']
  const name = (key: string) => ({ scope: 'acme', key }) as RecordName
  const bytesOfOne = replayCacheBounds.entryBytes + 2 * ('acme'.length + 'k1'.length + 'ab'.length) + 1

  test('fits in its bytes: what came first goes first', () => {
    const recent = recentReplays(manualClock(), 2 * bytesOfOne)
    recent.keep(replay('k1'), 1_000)
    recent.keep(replay('k2'), 1_000)
    recent.keep(replay('k3'), 1_000)
    expect(['k1', 'k2', 'k3'].map((key) => recent.find(name(key)) !== undefined)).toEqual([false, true, true])
    recent.keep(replay('k2'), 1_000)
    recent.keep(replay('k4'), 1_000)
    expect(['k2', 'k3', 'k4'].map((key) => recent.find(name(key)) !== undefined)).toEqual([true, false, true])
    recent.keep(replay('k5', 1, 'x'.repeat(2 * bytesOfOne)), 1_000)
    expect(['k2', 'k4', 'k5'].map((key) => recent.find(name(key)) !== undefined)).toEqual([true, true, false])
  })

  test('is the newest that fit, in whatever order keys come, come again and are over', () => {
    const keys = ['k1', 'k2', 'k3', 'k4', 'k5']
    const steps = fc.array(fc.record({ key: fc.constantFrom(...keys), forMs: fc.integer({ min: 1, max: 20 }) }))
    fc.assert(
      fc.property(steps, (steps) => {
        let now = 0
        const clock: ManualClock = { ...manualClock(), now: () => now, elapsed: () => now }
        const recent = recentReplays(clock, 3 * bytesOfOne)
        let line: { key: string; until: number }[] = []
        for (const { key, forMs } of steps) {
          recent.keep(replay(key), forMs)
          line = [...line.filter((one) => one.key !== key), { key, until: now + forMs }].slice(-3)
          while (line[0] !== undefined && line[0].until <= now) line.shift()
          now += 3
          const held = keys.filter((key) => recent.find(name(key)) !== undefined)
          line = line.filter(({ until }) => until > now)
          expect(held).toEqual(line.map(({ key }) => key).sort())
        }
      }),
    )
  })

  test('has every byte that it was given, and none that lay beside them', () => {
    const recent = recentReplays(manualClock(), 10_000)
    const body = Buffer.from(Uint8Array.from({ length: 256 }, (_, byte) => byte))
    const kept = replay('k')
    recent.keep({ ...kept, answer: { kind: 'kept', status: 200, headers: [], body: body.subarray(1) } }, 1_000)
    const found = recent.find(name('k'))?.replay.answer
    expect(found?.kind === 'kept' && body.subarray(1).equals(found.body)).toBe(true)
  })

  test('is not overwritten by an earlier generation that comes late', () => {
    const recent = recentReplays(manualClock(), 10_000)
    recent.keep(replay('k', 2), 1_000)
    recent.keep(replay('k', 1), 1_000)
    expect(recent.find(name('k'))?.replay.generation).toBe(2)
    recent.keep(replay('k', 3), 1_000)
    expect(recent.find(name('k'))?.replay.generation).toBe(3)
  })

  test('gives way to an earlier generation once it is over: whoever was forgotten begins at one', async () => {
    const clock = manualClock()
    const recent = recentReplays(clock, 10_000)
    recent.keep(replay('k', 2), 1_000)
    await clock.advance(1_000)
    recent.keep(replay('k', 1), 1_000)
    expect(recent.find(name('k'))?.replay.generation).toBe(1)
  })

  test('is over by the clock on the wall too: the other one stands still while a machine is suspended', () => {
    let wall = 0
    const clock: ManualClock = { ...manualClock(), now: () => wall }
    const recent = recentReplays(clock, 10_000)
    recent.keep(replay('k'), 1_000)
    wall = 999
    expect(recent.find(name('k'))).toMatchObject({ leftMs: 1 })
    wall = 1_000
    expect(recent.find(name('k'))).toBeUndefined()
    recent.keep(replay('k'), 1_000)
    wall = 500
    expect(recent.find(name('k'))).toBeUndefined()
  })
})

describe('a shared cache', () => {
  type Way = 'answers' | 'throws' | 'rejects' | 'hangs'

  /** Two nodes on one store, and what they share: a cache of this process, on a wire that the test holds. */
  function nodes() {
    let inner: ReplayCache
    let way: Way = 'answers'
    const asked = { find: 0, keep: 0 }
    const through = <T>(step: keyof typeof asked, answer: () => T): Promise<Awaited<T>> => {
      asked[step]++
      if (way === 'throws') throw new Error('no such client')
      if (way === 'rejects') return Promise.reject(new Error('the connection is closed'))
      return way === 'hangs' ? new Promise(() => {}) : (Promise.resolve().then(answer) as Promise<Awaited<T>>)
    }
    const shared: ReplayCache = {
      find: (name) => through('find', () => inner.find(name)),
      keep: (replay, ...bounds) => through('keep', () => inner.keep(replay, ...bounds)),
    }
    const given = bench(undefined, { replayCache: { shared } })
    inner = recentReplays(given.clock, 1_000_000)
    const one = guarded(given)
    const hapax = given.another()
    const now = (how: Way) => {
      way = how
    }
    return { given, one, other: { hapax, ...guarded({ ...given, hapax }) }, asked, now }
  }

  test('gives one node what another has answered, and the store is not asked', async () => {
    const { given, one, other } = nodes()
    const { value } = await one.run()
    given.faults.breakAt('reserve', 'before')
    expect(await other.run()).toMatchObject({ value, replayed: true })
    expect(await other.run()).toMatchObject({ value, replayed: true })
  })

  test('is remembered here, and is not asked again within seconds', async () => {
    const { given, one, other, asked } = nodes()
    await one.run()
    await other.run()
    const { find } = asked
    await other.run()
    expect(asked.find).toBe(find)
    await given.clock.advance(maxAgeMs)
    await other.run()
    expect(asked.find).toBe(find + 1)
  })

  test('is filled by a node that had to ask the store', async () => {
    const { given, one, other, now, asked } = nodes()
    now('rejects')
    await one.run()
    now('answers')
    await given.clock.advance(restMs)
    expect(asked.keep).toBe(0)
    expect(await other.run()).toMatchObject({ replayed: true })
    expect(asked.keep).toBe(1)
  })

  test.each(['throws', 'rejects'] as const)('that %s is passed over, and left alone for a while', async (how) => {
    const { given, one, other, asked, now } = nodes()
    const { value } = await one.run()
    now(how)
    const { find } = asked
    expect(await other.run()).toMatchObject({ value, replayed: true })
    await other.run({ key: 'k2' })
    expect(asked.find).toBe(find + 1)
    now('answers')
    await given.clock.advance(restMs)
    await other.run({ key: 'k3' })
    expect(asked.find).toBe(find + 2)
  })

  test('that is silent is waited for some milliseconds, once', async () => {
    const { given, one, other, asked, now } = nodes()
    const { value } = await one.run()
    now('hangs')
    const answered = other.run()
    await given.clock.advance(answerMs - 1)
    expect(given.faults.asked.get('reserve')).toBe(1)
    await given.clock.advance(1)
    expect(await answered).toMatchObject({ value, replayed: true })
    const { find } = asked
    await other.run({ key: 'k2' })
    expect(asked.find).toBe(find)
  })

  test('is asked once for duplicates that come together, and each has bytes of its own', async () => {
    const { given, other, asked } = nodes()
    const policy = given.policy()
    await given.hapax.execute(asExecuted(policy))
    const { find } = asked
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => other.hapax.execute(asExecuted(policy))))
    expect(asked.find - find).toBe(1)
    const bodies = outcomes.map(bodyOf)
    bodies.pop()?.fill(0)
    expect(new Set(bodies.map(String))).toEqual(new Set(['the answer']))
    expect(given.faults.asked.get('reserve')).toBe(1)
  })

  test('is asked nothing about a key that nobody sent', async () => {
    const { given, asked } = nodes()
    await given.hapax.execute({ ...asExecuted(given.policy()), minted: true })
    expect(asked).toEqual({ find: 0, keep: 0 })
  })
})
