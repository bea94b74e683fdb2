import { Redis } from 'ioredis'
import type { RedisSettings } from '../settings.js'

/** A connection to Redis, and what it is used for. */
export interface SandboxRedis extends RedisSettings {
  readonly client: Redis
  end(): Promise<void>
}

/** `undefined` where nothing is kept there. */
export function redisAt(settings: RedisSettings): SandboxRedis | undefined {
  if (settings.url === undefined) return undefined
  // What was under way when a connection was lost is told at once, and not sent again behind anybody's back.
  const client = new Redis(settings.url, { maxRetriesPerRequest: 0 })
  // Whoever asks hears of it, and a new connection is made.
  client.on('error', () => {})
  return { ...settings, client, end: async () => client.disconnect() }
}
