import { type Child, start } from '../harness/child.js'
import type { Later } from '../harness/closing.js'
import { type Flushes, startedRedis } from '../harness/redis.js'
import { type Site, startedSite } from '../http/site.js'
import { startedRestate } from './restate-server.js'

/** One of those who are compared: a server with the same handler. */
export interface Guest {
  readonly name: string
  /** Where an answer is once its caller has it. */
  readonly keeps: string
  readonly packages: readonly string[]
  readonly start: (around: Around) => Promise<Site>
}

interface Around {
  readonly url: string
  readonly programs: URL
  readonly client: Child
  readonly later: Later
}

export const hapax = 'Hapax'

export const onRedis = ['@node-idempotency/core, everysec', '@node-idempotency/core, always', 'Powertools'] as const

export const guests: readonly Guest[] = [
  {
    name: hapax,
    keeps: 'PostgreSQL, flushed',
    packages: [],
    start: async (around) => ({ ...startedSite('postgres', around), name: hapax }),
  },
  {
    name: onRedis[0],
    keeps: 'Redis, flushed every second',
    packages: ['@node-idempotency/core', '@node-idempotency/storage-adapter-redis'],
    start: redisSite(onRedis[0], 'node-idempotency.mjs', 'everysec'),
  },
  {
    name: onRedis[1],
    keeps: 'Redis, flushed',
    packages: [],
    start: redisSite(onRedis[1], 'node-idempotency.mjs', 'always'),
  },
  {
    name: onRedis[2],
    keeps: 'Redis, flushed every second',
    packages: ['@aws-lambda-powertools/idempotency', '@redis/client'],
    start: redisSite(onRedis[2], 'powertools.mjs', 'everysec'),
  },
  {
    name: 'express-idempotency',
    keeps: 'memory of the process',
    packages: ['express-idempotency'],
    start: async (around) => siteOf('express-idempotency', 'express-idempotency.mjs', {}, around),
  },
  {
    name: 'DBOS',
    keeps: 'PostgreSQL, flushed',
    packages: ['@dbos-inc/dbos-sdk'],
    start: async (around) => siteOf('DBOS', 'dbos.mjs', { url: around.url }, around),
  },
  {
    name: 'Restate',
    keeps: 'its own log, flushed',
    packages: ['@restatedev/restate-server', '@restatedev/restate-sdk'],
    start: async (around) => ({
      ...siteOf('Restate', 'restate.mjs', await startedRestate(around.programs, around.later), around),
      path: '/payments/create',
      status: 200,
    }),
  },
]

function redisSite(name: string, file: string, flushes: Flushes): Guest['start'] {
  return async (around) => siteOf(name, file, { url: (await startedRedis(flushes, around.later)).url }, around)
}

function siteOf(name: string, file: string, settings: object, { programs, client, later }: Around): Site {
  const server = start(new URL(file, programs), { settings, later })
  return { name, path: '/payments', status: 201, server, client }
}
