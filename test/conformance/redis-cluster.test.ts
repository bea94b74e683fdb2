import { startRedisCluster } from '../support/redis-server.js'
import { declareRedis } from './redis-declare.js'
import { ioredisCluster, nodeRedisCluster } from './redis-libraries.js'

/** The suite on two servers that are one cluster: no script may touch what another server has. */
declareRedis([ioredisCluster, nodeRedisCluster], startRedisCluster)
