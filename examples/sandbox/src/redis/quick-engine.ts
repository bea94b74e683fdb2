import { type Engine, engine, isHapaxError, type QuotaOptions } from 'hapax'
import { redisStore } from 'hapax/redis'
import { StartRefused } from '../settings.js'
import type { SandboxRedis } from './redis.js'

/** An engine whose records lie in Redis: quick, and of the grade `best-effort`. `undefined` where no key may be forgotten. */
export async function quickEngine(
  redis: SandboxRedis | undefined,
  quotas: QuotaOptions,
): Promise<Engine<never> | undefined> {
  if (redis?.notificationKeys !== 'redis') return undefined
  const store = redisStore({ client: redis.client, prefix: 'sandbox' })
  try {
    await store.open()
  } catch (error) {
    throw isHapaxError(error) ? new StartRefused(`${error.message} REDIS_URL leads there.`) : error
  }
  const quick = engine({ store, quotas })
  quick.on('store_failed', ({ step, errorCode }) => console.error(`${errorCode}: Redis failed to ${step}`))
  await quick.open()
  return quick
}
