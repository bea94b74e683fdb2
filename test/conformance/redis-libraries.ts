import type { RedisClient } from 'hapax/redis'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

/** A client library of Redis, as an application would make a client with it. */
export interface RedisLibrary {
  readonly name: string
  connect(port: number): Promise<{ readonly client: RedisClient; end(): void }>
}

/** What was under way when a connection was lost is told at once, and not sent again behind our back. */
export const ioredis: RedisLibrary = {
  name: 'redis, by ioredis',
  async connect(port) {
    const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => 5 })
    client.on('error', () => {})
    return { client, end: () => client.disconnect() }
  },
}

export const nodeRedis: RedisLibrary = {
  name: 'redis, by redis',
  async connect(port) {
    const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: () => 5 } })
    client.on('error', () => {})
    await client.connect()
    return { client, end: () => client.destroy() }
  },
}
