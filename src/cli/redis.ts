import { systemClock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import type { IoRedis, NodeRedis, RedisClient } from '../stores/redis/index.js'
import { installed } from './installed.js'

/** A Redis that a command looks at. */
export interface RedisServer {
  /** May hold a password, and is never printed. */
  readonly url: string
  readonly label: string
}

/** `undefined` where the text is no address of a Redis. */
export function redisServerOf(text: string): RedisServer | undefined {
  if (!/^rediss?:/i.test(text)) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^rediss?:\/\//i.test(text) || url.hash !== '' || url.pathname.includes('@'))
    throw new HapaxError('store_unknown', 'This is no URL of a Redis. Give redis://<user>@<host>:<port>.')
  return { url: text, label: `${url.protocol}//${url.host}` }
}

/** Uses a Redis with whichever client is installed, within a bound. */
export async function withRedis<T>({ url }: RedisServer, use: (client: RedisClient) => Promise<T>): Promise<T> {
  const opened = (await byIoRedis(url)) ?? (await byNodeRedis(url)) ?? noClient()
  const late = () => new HapaxError('store_unreachable', `Redis did not answer within ${boundMs} ms.`)
  try {
    return await within(systemClock, boundMs, opened.connect().then(use), late)
  } finally {
    opened.end()
  }
}

interface OpenClient {
  connect(): Promise<RedisClient>
  end(): void
}

const boundMs = defaults.storeTimeoutMs

async function byIoRedis(url: string): Promise<OpenClient | undefined> {
  const ioredis = await installed<{ Redis: new (url: string, options: object) => IoRedis & Told & Disconnecting }>(
    () => import('ioredis'),
  )
  if (ioredis === undefined) return undefined
  const client = new ioredis.Redis(url, { maxRetriesPerRequest: 0 })
  client.on('error', () => undefined)
  return { connect: async () => client, end: () => client.disconnect() }
}

async function byNodeRedis(url: string): Promise<OpenClient | undefined> {
  const redis = await installed<{ createClient(options: object): NodeRedis & Told & Connecting }>(() => import('redis'))
  if (redis === undefined) return undefined
  const client = redis.createClient({ url, socket: { reconnectStrategy: false } })
  client.on('error', () => undefined)
  return { connect: () => client.connect().then(() => client), end: () => client.destroy() }
}

interface Told {
  on(event: 'error', listener: () => void): unknown
}
interface Disconnecting {
  disconnect(): void
}
interface Connecting {
  connect(): Promise<unknown>
  destroy(): void
}

function noClient(): never {
  throw new HapaxError('store_unreachable', 'No client for Redis is installed. Run: npm install ioredis (or redis)')
}
