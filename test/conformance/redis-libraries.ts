import type { RedisClient } from 'hapax/redis'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'

/** A client library of Redis, as an application would make a client with it. */
export interface RedisLibrary {
  readonly name: string
  readonly way: 'server' | 'cluster'
  connect(port: number): Promise<RedisNode>
}

export interface RedisNode {
  readonly client: RedisClient
  hset(key: string, field: string, value: string): Promise<unknown>
  end(): void
}

/** What was under way when a connection was lost is told at once, and not sent again behind our back. */
export const ioredis: RedisLibrary = {
  name: 'redis, by ioredis',
  way: 'server',
  async connect(port) {
    const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => 5 })
    client.on('error', () => {})
    return { client, hset: (...set) => client.hset(...set), end: () => client.disconnect() }
  },
}

export const nodeRedis: RedisLibrary = {
  name: 'redis, by redis',
  way: 'server',
  async connect(port) {
    const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: () => 5 } })
    client.on('error', () => {})
    await client.connect()
    return { client, hset: (...set) => client.hSet(...set), end: () => client.destroy() }
  },
}

export const ioredisCluster: RedisLibrary = {
  name: 'redis cluster, by ioredis',
  way: 'cluster',
  async connect(port) {
    const client = new Cluster([{ host: '127.0.0.1', port }])
    return { client, hset: (...set) => client.hset(...set), end: () => client.disconnect() }
  },
}

export const nodeRedisCluster: RedisLibrary = {
  name: 'redis cluster, by redis',
  way: 'cluster',
  async connect(port) {
    const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] })
    client.on('error', () => {})
    await client.connect()
    return { client, hset: (...set) => client.hSet(...set), end: () => client.destroy() }
  },
}
