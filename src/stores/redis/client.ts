import { HapaxError } from '../../kernel/errors.js'

/**
 * What is handed in to speak to Redis: a client of `ioredis` or of `redis`, or a cluster of either. It is known by its shape
 * and never imported, and one command is all that is asked of it: a script, with raw arguments. Whatever else a library does
 * with options on their way to Redis, it cannot do here.
 */
export type RedisClient = IoRedis | NodeRedis | NodeRedisCluster

/** `new Redis(…)` or `new Cluster(…)` of `ioredis`. */
export interface IoRedis {
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>
}

/** `createClient(…)` or `createClientPool(…)` of `redis`. */
export interface NodeRedis {
  sendCommand(args: (string | Buffer)[], options?: NodeRedisReplies): Promise<unknown>
}

/** `createCluster(…)` of `redis`. */
export interface NodeRedisCluster {
  readonly masters: readonly unknown[]
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: (string | Buffer)[],
    options?: NodeRedisReplies,
  ): Promise<unknown>
}

/** How `redis` is told to give bytes as bytes. */
interface NodeRedisReplies {
  readonly typeMapping?: { readonly 36?: typeof Buffer }
}

/** Sends one command whose first key is `key`; text comes back as bytes. */
export type Send = (command: string, args: (string | Buffer)[], key: string) => Promise<unknown>

/** Recognises the library by the shape of what was handed in. */
export function sendOf(client: RedisClient): Send {
  const given = client as Partial<IoRedis & NodeRedis & NodeRedisCluster> | undefined
  if (typeof given?.callBuffer === 'function') {
    const redis = client as IoRedis
    return (command, args) => redis.callBuffer(command, args)
  }
  if (typeof given?.sendCommand === 'function' && 'masters' in given) {
    const cluster = client as NodeRedisCluster
    return (command, args, key) => cluster.sendCommand(key, false, [command, ...args], inBytes)
  }
  if (typeof given?.sendCommand === 'function') {
    const redis = client as NodeRedis
    return (command, args) => redis.sendCommand([command, ...args], inBytes)
  }
  throw new HapaxError(
    'store_unknown',
    'client is neither of ioredis nor of redis. Give new Redis(url), or what createClient({ url }) made, connected.',
  )
}

const inBytes: NodeRedisReplies = { typeMapping: { 36: Buffer } }
