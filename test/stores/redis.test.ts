import { keyOf, scopeOf } from 'hapax'
import { type IoRedis, type RedisClient, redisStore } from 'hapax/redis'
import { Redis } from 'ioredis'
import { createClientPool } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { freePort, noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'

/** What is Redis's own: its server, its scripts, and the libraries that lead to it. */

let server: TestRedis

function clientOfTest(port = server.port, options = {}): Redis {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, ...options })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}

const name = { scope: scopeOf('acme'), key: keyOf('k') }
const reservation = {
  ...name,
  claimId: 'c1',
  operation: 'payments.create',
  fingerprints: ['sha256-v1:aa' as never],
  leaseMs: 30_000,
  retentionMs: 60_000,
  tombstoneMs: 60_000,
  onLeaseOver: 'doubt',
  onExpired: 'run',
  onNew: 'take',
} as const

async function claimed(store: ReturnType<typeof redisStore>) {
  const verdict = await store.reserve(reservation)
  if (verdict.kind !== 'reserved') throw new Error(`not reserved but ${verdict.kind}`)
  return verdict.claim
}

describe.skipIf(redisBinary === undefined)(
  `the redis store${redisBinary === undefined ? ` (skipped: ${noRedis})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startRedis()
    })
    afterAll(() => server.end())

    test('judges by the clock of Redis where nobody has pinned it', async () => {
      const client = clientOfTest()
      const store = redisStore({ client, prefix: 'clock' })
      const [before] = await client.time()
      await claimed(store)
      const { createdAt = 0, leaseUntil } = (await store.find(name)) ?? {}
      const [after] = await client.time()
      expect(createdAt).toBeGreaterThanOrEqual(Number(before) * 1_000)
      expect(createdAt).toBeLessThan((Number(after) + 1) * 1_000)
      expect(leaseUntil).toBe(createdAt + 30_000)
    })

    test('refuses a server that evicts keys, and says what to set', async () => {
      const evicting = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'])
      onTestFinished(() => evicting.end())
      const store = redisStore({ client: clientOfTest(evicting.port) })
      await expect(store.open()).rejects.toMatchObject({
        code: 'store_not_durable',
        message: expect.stringContaining('Set maxmemory-policy noeviction'),
      })
      expect(await store.examine()).toContainEqual(expect.objectContaining({ check: 'eviction', level: 'broken' }))
    })

    test('gives no key of its own a time to live, so that volatile policies leave it alone', async () => {
      const client = clientOfTest()
      const store = redisStore({ client, prefix: 'volatile' })
      const claim = await claimed(store)
      await store.complete(claim, {
        answer: { kind: 'withheld', status: 200, headers: [], bytes: 1 },
        answerVersion: 1,
      })
      await store.calls.testify({ downstreamKey: 'd', says: 'landed', by: 'webhook', why: 'e' })
      const keys = await client.keys('{volatile}*')
      expect(keys.length).toBeGreaterThan(5)
      for (const key of keys) expect([key, await client.ttl(key)]).toEqual([key, -1])
    })

    test('says what the grade means, and that it was looked at', async () => {
      const client = clientOfTest()
      const findings = await redisStore({ client, prefix: 'looked-at' }).examine()
      expect(await client.exists('{looked-at}')).toBe(0)
      expect(findings.map(({ check, level }) => `${check} ${level}`)).toEqual([
        'client ok',
        'layout ok',
        'version ok',
        'eviction ok',
        'durability warning',
      ])
      expect(findings.at(-1)?.says).toContain('best-effort')
    })

    test('refuses keys that a later release has laid out', async () => {
      const client = clientOfTest()
      await client.hset('{later}', 'layout', '2')
      await expect(redisStore({ client, prefix: 'later' }).open()).rejects.toMatchObject({ code: 'store_schema_newer' })
    })

    test('refuses a client that does not give bytes as they are', async () => {
      const redis = clientOfTest()
      const client: IoRedis = { callBuffer: async (command, args) => textual(await redis.call(command, args)) }
      await expect(redisStore({ client }).open()).rejects.toThrow()
      function textual(reply: unknown): unknown {
        return Array.isArray(reply)
          ? reply.map((part, index) => (index === 1 ? part : Buffer.from(String(part))))
          : reply
      }
    })

    test('refuses what is no client, and a prefix that would break a hash tag', () => {
      expect(() => redisStore({ client: {} as RedisClient })).toThrow('client is neither of ioredis nor of redis')
      for (const prefix of ['', 'a}b', '{a', 'a b', 'x'.repeat(101)])
        expect(() => redisStore({ client: clientOfTest(), prefix })).toThrow('prefix')
    })

    test('goes on after Redis has forgotten every script', async () => {
      const client = clientOfTest()
      const store = redisStore({ client, prefix: 'flushed' })
      const claim = await claimed(store)
      await client.script('FLUSH')
      expect(await store.renew(claim, 1_000)).toBe(true)
    })

    test('stays under the prefix that ioredis puts before every key', async () => {
      const [plain, client] = [clientOfTest(), clientOfTest(server.port, { keyPrefix: 'app:' })]
      const store = redisStore({ client, prefix: 'kept' })
      const claim = await claimed(store)
      expect(await store.release(claim)).toBe(true)
      await claimed(store)
      const keys = await plain.keys('*{kept}*')
      expect(keys.length).toBeGreaterThan(3)
      expect(keys.filter((key) => !key.startsWith('app:{kept}'))).toEqual([])
    })

    test('is told apart by its prefix', async () => {
      const client = clientOfTest()
      await claimed(redisStore({ client, prefix: 'one' }))
      expect(await redisStore({ client, prefix: 'other' }).find(name)).toBeUndefined()
    })

    test('leaves nothing behind of a record that was deleted but its counters', async () => {
      const client = clientOfTest()
      const store = redisStore({ client, prefix: 'empty' })
      const at = (ms: number) => client.hset('{empty}', 'pinnedAt', ms)
      await at(1_000)
      const claim = await claimed(store)
      const call = { kind: 'begun', key: 'd', phase: 'charge' } as const
      await store.checkpoint(claim, { recoveryPoint: 'charge', onLeaseOver: 'doubt', leaseMs: 1_000, call })
      await store.calls.testify({ downstreamKey: 'd', says: 'landed', by: 'webhook', why: 'e' })
      await store.complete(claim, {
        answer: { kind: 'kept', status: 200, headers: [], body: Buffer.from('x') },
        answerVersion: 1,
      })
      await at(100_000)
      expect(await store.reap(10)).toEqual({ buried: 1, deleted: 0 })
      await at(200_000)
      expect(await store.reap(10)).toEqual({ buried: 0, deleted: 1 })
      expect(await client.keys('{empty}*')).toEqual(['{empty}'])
    })

    test('counts out more expired keys than one script takes', async () => {
      const client = clientOfTest()
      const store = redisStore({ client, prefix: 'many' })
      await client.hset('{many}', 'pinnedAt', 1_000)
      const withheld = { answer: { kind: 'withheld', status: 200, headers: [], bytes: 1 }, answerVersion: 1 } as const
      for (let n = 0; n < 1_100; n++) {
        const verdict = await store.reserve({ ...reservation, key: keyOf(`k${n}`) })
        if (verdict.kind === 'reserved') await store.complete(verdict.claim, withheld)
      }
      expect(await store.usage('acme', 10_000)).toEqual({ keys: 1_100, bytes: 0 })
      await client.hset('{many}', 'pinnedAt', 100_000)
      expect(await store.usage('acme', 10_000)).toEqual({ keys: 0, bytes: 0 })
    })

    test('does not act on a record that somebody has changed since it was seen', async () => {
      const redis = clientOfTest()
      const beside = redisStore({ client: redis, prefix: 'raced' })
      const claim = await claimed(beside)
      await beside.doubt(claim, { errorCode: 'timeout', reconcileAfterMs: 0 })
      let calls = 0
      const client: IoRedis = {
        async callBuffer(command, args) {
          const reply = await redis.callBuffer(command, args)
          // The first reply is what was seen. Before anybody acts on it, the holder comes back, who was only slow.
          if (++calls === 1) await beside.complete(claim, { answer: answered, answerVersion: 1 })
          return reply
        },
      }
      // Redis knows the scripts by now, so that each is one command.
      await beside.audit.head()
      const answered = { kind: 'withheld', status: 200, headers: [], bytes: 1 } as const
      const settlement = {
        generation: 1,
        evidence: { by: 'operator:ann', why: 'x' },
        outcome: { kind: 'not_landed' },
      } as const
      const deed = { kind: 'settle', name, settlement } as const
      const acted = await redisStore({ client, prefix: 'raced' }).audit.act(deed, { who: 'operator:ann', why: 'x' })
      expect(acted).toEqual({ kind: 'refused', why: 'state', state: 'completed' })
      expect((await beside.find(name))?.state).toBe('completed')
      expect(await beside.audit.head()).toEqual({ sequence: 0, hash: '' })
    })

    test('tells a server that is not there, one that wants a password, and one without memory', async () => {
      const nowhere = redisStore({ client: clientOfTest(await freePort()) })
      await expect(nowhere.open()).rejects.toMatchObject({ retryable: true })
      const locked = await startRedis(['--requirepass', 'secret'])
      onTestFinished(() => locked.end())
      await expect(redisStore({ client: clientOfTest(locked.port) }).open()).rejects.toMatchObject({
        code: 'store_unreachable',
      })
      const full = await startRedis(['--maxmemory', '1', '--maxmemory-policy', 'noeviction'])
      onTestFinished(() => full.end())
      await expect(claimed(redisStore({ client: clientOfTest(full.port) }))).rejects.toMatchObject({
        code: 'store_busy',
        message: expect.stringContaining('no memory left'),
      })
    })

    test('is handed a pool of connections as well', async () => {
      const client = createClientPool({ url: server.url })
      onTestFinished(() => client.destroy())
      await client.connect()
      const store = redisStore({ client, prefix: 'pooled' })
      await store.open()
      await claimed(store)
      expect((await store.find(name))?.state).toBe('in_progress')
    })
  },
)
