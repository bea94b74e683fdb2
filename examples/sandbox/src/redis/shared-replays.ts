import type { ReplayCacheOptions } from 'hapax'
import { redisReplayCache } from 'hapax/redis'
import type { Settings } from '../settings.js'
import type { SandboxRedis } from './redis.js'

/** Recent answers that all nodes share in Redis, beside those that each remembers by itself. */
export function sharedIn(
  redis: SandboxRedis | undefined,
  own: Settings['replayCache'],
): Settings['replayCache'] | ReplayCacheOptions {
  if (redis?.sharedReplays !== 'redis') return own
  const shared = redisReplayCache({ client: redis.client, prefix: 'sandbox' })
  return own === 'off' ? { bytes: 0, shared } : { ...own, shared }
}
