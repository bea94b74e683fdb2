import { afterAll, beforeAll, test } from 'vitest'
import { noRedis, redisBinary, type TestRedis } from '../support/redis-server.js'
import { declareConformance } from './declare.js'
import { redisHarness } from './redis-harness.js'
import type { RedisLibrary } from './redis-libraries.js'

/** The suite by each of these libraries, on one server that is started for all of them. */
export function declareRedis(libraries: readonly RedisLibrary[], start: () => Promise<TestRedis>): void {
  if (redisBinary === undefined) {
    for (const { name } of libraries) test.skip(`the ${name} store (skipped: ${noRedis})`, () => {})
    return
  }
  let server: TestRedis
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.end())
  for (const library of libraries) declareConformance(redisHarness(library, () => server.port))
}
