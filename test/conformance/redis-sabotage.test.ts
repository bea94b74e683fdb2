import { storeConformance } from 'hapax/conformance'
import type { IoRedis } from 'hapax/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'
import { plantedRedisFaults } from './planted-redis-faults.js'
import { redisHarness } from './redis-harness.js'
import type { RedisLibrary } from './redis-libraries.js'

let server: TestRedis

if (redisBinary === undefined) test.skip(`the suite finds out a faulty Redis store (skipped: ${noRedis})`, () => {})
else {
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.end())

  describe('the suite finds out a Redis store that', () => {
    test.each(plantedRedisFaults)('$fault', async ({ caughtBy, from, to }) => {
      const { library, planted } = sabotaged((lua) => lua.replace(from, to))
      const found = await caseOf(library, caughtBy)
        .run()
        .catch((error: unknown) => error)
      expect(found).toBeInstanceOf(Error)
      expect(planted()).toBeGreaterThan(0)
      // A script that Redis cannot even read would be found out by anything.
      expect(String(found)).not.toMatch(/compiling script/)
    })
  })

  test.each([...new Set(plantedRedisFaults.map(({ caughtBy }) => caughtBy))])(
    'with no fault planted the Redis store keeps this: %s',
    (name) => caseOf(sabotaged((lua) => lua).library, name).run(),
  )
}

function caseOf(library: RedisLibrary, name: string) {
  const found = storeConformance(redisHarness(library, () => server.port)).find((one) => one.name === name)
  if (found === undefined) throw new Error(`the suite has no case "${name}"`)
  return found
}

/** A client that sends other scripts than the store meant, always in full, and how many of them it changed. */
function sabotaged(rewritten: (lua: string) => string) {
  let planted = 0
  const library: RedisLibrary = {
    name: 'sabotaged',
    way: 'server',
    async connect(port) {
      const redis = new Redis(port, '127.0.0.1')
      const client: IoRedis = {
        async callBuffer(command, [lua, ...behind]) {
          if (command === 'EVALSHA') throw new Error('NOSCRIPT')
          const text = rewritten(String(lua))
          if (text !== lua) planted++
          return redis.callBuffer(command, [text, ...behind])
        },
      }
      return { client, hset: (...set) => redis.hset(...set), end: () => redis.disconnect() }
    },
  }
  return { library, planted: () => planted }
}
