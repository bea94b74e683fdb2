import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { globex, pay, tea } from '../sandbox/payment-client.js'
import { ledger } from '../sandbox/providers-process.js'
import { eventually, fault, get, isReplay, postJson, retriedUntil } from '../sandbox/sandbox-client.js'
import { noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** Redis, where it may forget: the keys of notifications, and answers in front of the database. */

const skipped = redisBinary === undefined ? ` (skipped: ${noRedis})` : ''
const testOnRedis = test.skipIf(redisBinary === undefined)

onBothDatabases((start) => {
  let server: TestRedis
  let redis: Redis
  beforeAll(async () => {
    if (redisBinary === undefined) return
    server = await startRedis()
    redis = new Redis(server.port)
  })
  afterAll(async () => {
    redis?.disconnect()
    await server?.end()
  })
  const inRedis = () => redis.keys('{sandbox}:record:*')

  describe('where the keys of notifications are kept in Redis', () => {
    let sandbox: BlackBox
    beforeAll(async () => {
      if (redisBinary === undefined) return
      const env = { REDIS_URL: server.url, SANDBOX_NOTIFICATION_KEYS: 'redis', SANDBOX_LEASE_SECONDS: '3' }
      sandbox = await start({ providers: 'simulated', env })
    })
    const hello = { to: 'ada@example.com', text: 'Your order is on its way.' }
    const notify = (key: string, body: object = hello, on: BlackBox = sandbox) =>
      postJson(on, '/notifications', body, { key })
    const sentOf = async (id: unknown) =>
      (await ledger(sandbox, '?provider=notifier')).filter(({ reference }) => reference === id)

    testOnRedis(
      `a low-stakes route may keep its keys in Redis: of twenty at once one sends, and every retry gets its bytes [S1-008]${skipped}`,
      async () => {
        const key = randomUUID()
        const answers = await Promise.all(Array.from({ length: 20 }, () => notify(key)))
        const statuses = answers.map(({ status }) => status)
        expect(statuses.filter((status) => status !== 202 && status !== 409)).toEqual([])
        const first = answers.find((answer) => answer.status === 202 && !isReplay(answer))
        expect(answers.filter((answer) => answer.status === 202 && !isReplay(answer))).toHaveLength(1)
        expect(first?.json).toMatchObject({ ...hello, status: 'sent' })

        const again = await notify(key)
        expect([again.status, again.text, isReplay(again)]).toEqual([202, first?.text, true])
        expect(again.headers.get('location')).toBe(first?.headers.get('location'))
        expect((await notify(key, { ...hello, text: 'Another text.' })).status).toBe(422)
        const others = await postJson(sandbox, '/notifications', hello, { key, tenant: globex })
        expect([others.status, isReplay(others)]).toEqual([202, false])
        expect([await sentOf(first?.json.id), await sentOf(others.json.id)]).toMatchObject([[{}], [{}]])

        // One record for each tenant, in Redis and nowhere else; a node that has just been started finds it.
        expect([await inRedis(), await sandbox.recordsOf(key)]).toMatchObject([{ length: 2 }, []])
        const env = { REDIS_URL: server.url, SANDBOX_NOTIFICATION_KEYS: 'redis' }
        const fresh = await notify(key, hello, await sandbox.another({ env }))
        expect([fresh.text, isReplay(fresh)]).toEqual([first?.text, true])
        const { routes } = (await get(sandbox, '/idempotency/policy')).json as { routes: { name: string }[] }
        expect(routes.filter(({ name }) => name === 'notifications.create')).toHaveLength(1)
      },
    )

    testOnRedis(
      `a lost answer of the provider is a doubt there as anywhere, and is asked about, not sent again${skipped}`,
      async () => {
        const key = randomUUID()
        await fault(sandbox, { provider: 'notifier', operation: 'send', mode: 'timeout_after_effect' })
        expect((await notify(key)).status).toBe(409)
        const settled = await retriedUntil(202, () => notify(key))
        expect(await sentOf(settled.json.id)).toHaveLength(1)
      },
    )

    testOnRedis(`what Redis forgets runs again, and what is in the database does not [S1-008]${skipped}`, async () => {
      const [key, payment] = [randomUUID(), { key: randomUUID(), body: tea() }]
      const [first, paid] = [await notify(key), await pay(sandbox, payment)]
      expect([first.status, paid.status]).toEqual([202, 201])
      await redis.flushall()
      const again = await notify(key)
      expect([again.status, isReplay(again)]).toEqual([202, false])
      expect(again.json.id).not.toBe(first.json.id)
      const repaid = await pay(sandbox, payment)
      expect([repaid.text, isReplay(repaid)]).toEqual([paid.text, true])
      expect((await notify(randomUUID(), { ...hello, sendAt: '2999-01-01T00:00:00Z' })).status).toBe(400)
    })
  })

  describe('where recent answers are shared in Redis, in front of the database', () => {
    const kept = () => redis.keys('sandbox:replay:*')

    testOnRedis(
      `a replay is served while the database is away, and from the database when Redis is, to the same byte [S1-010]${skipped}`,
      async () => {
        const own = await startRedis()
        const client = new Redis(own.port).on('error', () => {})
        try {
          const env = { REDIS_URL: own.url, SANDBOX_SHARED_REPLAYS: 'redis' }
          const sandbox = await start({ env })
          const attempt = { key: randomUUID(), body: tea() }
          const first = await pay(sandbox, attempt)
          expect([first.status, isReplay(first)]).toEqual([201, false])
          // A Redis that takes too long is left alone for a second: then the next retry brings its answer there.
          const [entry = ''] = await eventually(async () => {
            const entries = await client.keys('sandbox:replay:*')
            if (entries.length === 0) await pay(sandbox, attempt)
            expect(entries).toHaveLength(1)
            return entries
          })
          // An operator's purge holds after a minute at most: nothing is kept for longer.
          const leftMs = await client.pttl(entry)
          expect([leftMs > 0, leftMs <= 60_000]).toEqual([true, true])

          // Nobody remembers anything by himself here, and both nodes have it.
          await sandbox.withoutDatabase(async () => {
            for (let node = 0; node < 2; node++) {
              const again = await retriedUntil(201, () => pay(sandbox, attempt))
              expect([again.text, isReplay(again)]).toEqual([first.text, true])
              expect(again.headers.get('location')).toBe(first.headers.get('location'))
            }
            await retriedUntil(422, () => pay(sandbox, { ...attempt, body: tea() }))
            expect((await pay(sandbox)).status).toBe(503)
          })

          await client.flushall()
          const lost = await retriedUntil(201, () => pay(sandbox, attempt))
          expect([lost.text, isReplay(lost)]).toEqual([first.text, true])
          own.process.kill('SIGSTOP')
          const slow = await pay(sandbox, attempt)
          expect([slow.text, isReplay(slow)]).toEqual([first.text, true])
          await own.end()
          const gone = await pay(sandbox, attempt)
          expect([gone.text, isReplay(gone)]).toEqual([first.text, true])
          expect((await pay(sandbox)).status).toBe(201)
          expect(await sandbox.paymentsOf(attempt.body)).toHaveLength(1)
        } finally {
          client.disconnect()
          await own.end()
        }
      },
    )

    testOnRedis(`a sandbox without Redis in front keeps nothing there${skipped}`, async () => {
      await pay(await start(), { key: randomUUID(), body: tea() })
      expect(await kept()).toEqual([])
    })
  })
})
