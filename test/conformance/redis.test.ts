import { startRedis } from '../support/redis-server.js'
import { declareRedis } from './redis-declare.js'
import { ioredis, nodeRedis } from './redis-libraries.js'

/** The whole suite on a real Redis, by each client library. */
declareRedis([ioredis, nodeRedis], () => startRedis())
