/** `hapax/redis`: records in Redis, and a cache of answers in front of another store. */
export type { IoRedis, NodeRedis, NodeRedisCluster, RedisClient } from './client.js'
export { type RedisStore, type RedisStoreOptions, redisStore } from './redis-store.js'
export { type RedisReplayCacheOptions, redisReplayCache } from './replay-cache.js'
