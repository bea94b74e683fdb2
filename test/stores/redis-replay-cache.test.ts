import { type Engine, engine, type KeptReplay, keyOf, scopeOf } from 'hapax'
import { type IoRedis, redisReplayCache } from 'hapax/redis'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ioredis, nodeRedis } from '../conformance/redis-libraries.js'
import { whileBlocked } from '../support/blocked-records.js'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'
import { noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'
import { bounded, gate, until } from '../support/waiting.js'

let server: TestRedis
let redis: Redis

const replay: KeptReplay = {
  scope: scopeOf({ tenant: 'acme', principal: 'ann' }),
  key: keyOf('k'),
  generation: 1,
  operation: 'payments.create',
  fingerprint: 'sha256-v1:aa' as KeptReplay['fingerprint'],
  answerVersion: 1,
  expiresAt: 4_000_000_000_000,
  trace: '00-1-2-01',
  answer: {
    kind: 'kept',
    status: 201,
    headers: [
      ['content-type', 'application/octet-stream'],
      ['link', 'a'],
      ['link', 'ö'],
    ],
    body: Buffer.from([...Array(256).keys()]),
  },
}

if (redisBinary === undefined) test.skip(`a replay cache in Redis (skipped: ${noRedis})`, () => {})
else {
  beforeAll(async () => {
    server = await startRedis()
    redis = new Redis(server.port)
  })
  beforeEach(() => redis.flushall())
  afterAll(async () => {
    redis.disconnect()
    await server.end()
  })

  describe.each([ioredis, nodeRedis])('a replay cache in $name', (library) => {
    async function cacheOfTest(maxAge: '1m' | '50ms' = '1m') {
      const { client, end } = await library.connect(server.port)
      onTestFinished(() => end())
      return redisReplayCache({ client, maxAge })
    }

    test('gives another node what was kept, byte for byte, and says for how long', async () => {
      const [one, other] = [await cacheOfTest(), await cacheOfTest()]
      expect(await other.find(replay)).toBeUndefined()
      await one.keep(replay, 30_000, 0)
      const found = await other.find(replay)
      expect(found?.replay).toEqual(replay)
      expect(found?.leftMs).toBeGreaterThan(0)
      expect(found?.leftMs).toBeLessThanOrEqual(30_000)
    })

    test('keeps what has neither expiry nor trace, and an answer that was withheld', async () => {
      const cache = await cacheOfTest()
      const bare: KeptReplay = {
        ...replay,
        answerVersion: undefined,
        expiresAt: undefined,
        trace: undefined,
        answer: { kind: 'withheld', status: 200, headers: [], bytes: 5_000_000 },
      }
      await cache.keep(bare, 30_000, 0)
      expect((await cache.find(bare))?.replay).toEqual(bare)
    })

    test('keeps nothing for longer than its age allows, counted from when the store was asked', async () => {
      const cache = await cacheOfTest()
      await cache.keep(replay, 3_600_000, 20_000)
      const [key = ''] = await redis.keys('*')
      const left = await redis.pttl(key)
      expect(left).toBeGreaterThan(0)
      expect(left).toBeLessThanOrEqual(40_000)
      await redis.flushall()
      await cache.keep(replay, 3_600_000, 60_000)
      expect(await redis.keys('*')).toEqual([])
    })

    test('gives nothing any more once its time is over', async () => {
      const cache = await cacheOfTest('50ms')
      await cache.keep(replay, 3_600_000, 0)
      await until(
        async () => cache.find(replay),
        (found) => found === undefined,
        'the replay to be over',
      )
    })

    test('lets a later generation take the place of an earlier one, and not the reverse', async () => {
      const cache = await cacheOfTest()
      await cache.keep({ ...replay, generation: 2 }, 30_000, 0)
      await cache.keep(replay, 30_000, 0)
      expect((await cache.find(replay))?.replay.generation).toBe(2)
      await cache.keep({ ...replay, generation: 3 }, 30_000, 0)
      expect((await cache.find(replay))?.replay.generation).toBe(3)
    })
  })

  test('what a client without a connection held back for longer than it may be kept is not kept', async () => {
    const held = gate()
    let isHeld = false
    const client: IoRedis = {
      async callBuffer(command, args) {
        if (isHeld) await held.opened
        return redis.callBuffer(command, args)
      },
    }
    const cache = redisReplayCache({ client, maxAge: '50ms' })
    expect(await cache.find(replay)).toBeUndefined()
    const before = await timeOf(redis)
    isHeld = true
    const kept = cache.keep(replay, 30_000, 0)
    await until(
      () => timeOf(redis),
      (now) => now > before + 100,
      'its time to pass',
    )
    held.open()
    await bounded(Promise.resolve(kept), 'the command')
    expect(await redis.keys('*')).toEqual([])
  })

  test('an age over a minute is refused', () => {
    expect(() => redisReplayCache({ client: redis, maxAge: '2m' })).toThrow('maxAge is 2m, and over 1m')
  })

  onPostgres('a replay cache in Redis, in front of PostgreSQL', (url) => {
    /** Any number of nodes on one schema, each of which remembers nothing by itself. */
    async function given(maxAge: '1m' | '200ms' = '1m') {
      const { node, owner, schema } = await schemaOfTest(url)
      const hapaxOf = (port = server.port): Engine<pg.PoolClient> => {
        const client = new Redis(port, { maxRetriesPerRequest: 0 })
        client.on('error', () => {})
        const shared = redisReplayCache({ client, maxAge })
        const store = node({ statementTimeout: '2s' }).store
        const made = engine({ store, storeTimeout: '2s', replayCache: { bytes: 0, shared } })
        onTestFinished(async () => {
          await made.close()
          client.disconnect()
        })
        return made
      }
      const blocked = <T>(body: () => Promise<T>) => whileBlocked(owner, schema, body)
      return { hapaxOf, whileBlocked: blocked, audit: node().store.audit }
    }

    const run = (hapax: Engine<pg.PoolClient>, id = 'pay_1') =>
      hapax.run({ scope: 'acme', key: 'k', policy: hapax.policy({ name: 'payments.create' }) }, async () => ({ id }))
    /** A Redis that takes too long is left alone for a second: then the next retry brings its answer there. */
    const untilKept = (hapax: Engine<pg.PoolClient>) =>
      until(
        async () => {
          await run(hapax)
          return redis.keys('*')
        },
        ({ length }) => length === 1,
        'the answer to be kept',
      )

    test('a replay is served by another node while PostgreSQL is blocked', async () => {
      const { hapaxOf, whileBlocked } = await given()
      const hapax = hapaxOf()
      const first = await run(hapax)
      await untilKept(hapax)
      const other = hapaxOf()
      const served = () =>
        until(
          () => run(other).catch((error: unknown) => error),
          (came) => !(came instanceof Error),
          'a replay',
        )
      expect(await whileBlocked(served)).toEqual({ ...first, replayed: true })
    })

    test('when Redis has lost everything, or is gone, or hangs, PostgreSQL gives the same', async () => {
      const { hapaxOf } = await given()
      const first = await run(hapaxOf())
      await redis.flushall()
      expect(await run(hapaxOf())).toEqual({ ...first, replayed: true })
      const gone = await startRedis()
      await gone.end()
      expect(await run(hapaxOf(gone.port))).toEqual({ ...first, replayed: true })
      const hangs = await startRedis()
      onTestFinished(() => hangs.end())
      const hapax = hapaxOf(hangs.port)
      hangs.process.kill('SIGSTOP')
      expect(await run(hapax)).toEqual({ ...first, replayed: true })
    })

    test('a purge holds once the age is over, on a node that had it from Redis', async () => {
      const { hapaxOf, audit } = await given('200ms')
      await run(hapaxOf())
      const name = { scope: scopeOf('acme'), key: keyOf('k') }
      await audit.act({ kind: 'purge', name, generation: 1 }, { who: 'operator:ann', why: 'wrong' })
      const other = hapaxOf()
      const came = await until(
        () => run(other, 'pay_2'),
        ({ value }) => value.id === 'pay_2',
        'the purge to hold',
      )
      expect(came).toMatchObject({ replayed: false, generation: 2 })
      await until(
        () => run(hapaxOf(), 'pay_3'),
        ({ value }) => value.id === 'pay_2',
        'the new answer to be given',
      )
    })
  })
}

async function timeOf(of: Redis): Promise<number> {
  const [seconds, micros] = await of.time()
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
}
