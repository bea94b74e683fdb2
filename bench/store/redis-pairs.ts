import { start } from '../harness/child.js'
import type { Later } from '../harness/closing.js'
import type { Load } from '../harness/loops.mjs'
import { startedRedis } from '../harness/redis.js'
import { versionOf } from '../harness/version.js'
import { installedPrograms } from '../peers/installed.js'

export interface RedisPairs {
  readonly versions: Readonly<Record<string, string>>
  readonly pairs: (concurrency: number, seconds: number) => Promise<Load>
}

/** What teams do instead: a key that is set if it is not there, and set again with the answer. Nothing is ever flushed. */
export async function redisPairs(later: Later): Promise<RedisPairs> {
  const programs = await installedPrograms()
  const { url, version } = await startedRedis('never', later)
  const app = start(new URL('redis-pairs.mjs', programs), { settings: { url }, later })
  return {
    versions: { Redis: version, '@redis/client': versionOf('@redis/client', programs) },
    pairs: (concurrency, seconds) => app.ask<Load>({ concurrency, seconds }),
  }
}
