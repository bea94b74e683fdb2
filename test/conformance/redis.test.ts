import { afterAll, beforeAll, test } from 'vitest'
import { noRedis, redisBinary, startRedis, type TestRedis } from '../support/redis-server.js'
import { declareConformance } from './declare.js'
import { redisHarness } from './redis-harness.js'
import { ioredis, nodeRedis } from './redis-libraries.js'

/** The whole suite on a real Redis, by each client library. */
if (redisBinary === undefined) test.skip(`the redis store (skipped: ${noRedis})`, () => {})
else {
  let server: TestRedis
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.end())
  for (const library of [ioredis, nodeRedis]) declareConformance(redisHarness(library, () => server.port))
}
