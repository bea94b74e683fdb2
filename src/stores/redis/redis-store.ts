import type { AuditStore } from '../../engine/audit-store.js'
import type { CallStore } from '../../engine/call-store.js'
import { boundedLimit } from '../../engine/limit.js'
import { pageOf, wayOf } from '../../engine/listing.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import type { Store } from '../../engine/store.js'
import { HapaxError } from '../../kernel/errors.js'
import { limits, redisBounds, telemetryBounds } from '../../kernel/limits.js'
import { redisAudit } from './audit.js'
import { redisCalls } from './calls.js'
import type { RedisClient } from './client.js'
import { connectionOf, type Given } from './connection.js'
import { examined, opened } from './examine.js'
import { checkpointFields, claimFields, planFields, reservationFields, settlementFields } from './given-fields.js'
import { keysOf } from './keys.js'
import { listOn } from './listing.js'
import { answerFields, recordIf, recordOf } from './record-fields.js'
import { listOf, numberOf, type Reply, textOf } from './reply.js'
import type { Script } from './script.js'
import * as scripts from './scripts.js'
import { verdictOf } from './verdict.js'

export interface RedisStoreOptions {
  /** A client of `ioredis` or of `redis`, or a cluster of either. It stays yours: the store never closes it. */
  readonly client: RedisClient
  /** What the names of all keys begin with, in braces. Two stores with two prefixes know nothing of each other. Default `'hapax'`. */
  readonly prefix?: string
}

export interface RedisStore extends Store {
  readonly calls: CallStore
  readonly audit: AuditStore
  readonly measure: NonNullable<Store['measure']>
  readonly reapable: NonNullable<Store['reapable']>
  readonly examine: NonNullable<Store['examine']>
}

/**
 * Records in Redis: quick, shared by all nodes, and of the grade `best-effort`. Redis acknowledges before it has written to
 * disk or to a replica, so that a crash or a failover may forget a key, and its next request runs again. For routes where
 * that is a nuisance and no loss; money belongs into a store that commits.
 *
 * @example
 * const hapax = engine({ store: redisStore({ client: new Redis(url) }) })
 */
export function redisStore({ client, prefix = 'hapax' }: RedisStoreOptions): RedisStore {
  const connection = connectionOf(client)
  const { root, record } = keysOf(prefix)

  const on = (script: Script, name: RecordName, given: Given = {}) => connection.run(script, record(name), given)
  const all = (script: Script, given: Given = {}) => connection.run(script, [root], given)
  /** A step that a claim takes, or that is refused. */
  const step = async (script: Script, name: RecordName, given: Given) => (await on(script, name, given)) !== null
  const recordsOf = (reply: Reply): readonly StoredRecord[] => listOf(reply).map(recordOf)
  const find = async (name: RecordName) => recordIf(await on(scripts.find, name))

  return {
    name: 'redis',
    grade: 'best-effort',
    open: () => opened(connection, root),
    async close() {},

    reserve: async (reservation) => verdictOf(await on(scripts.reserve, reservation, reservationFields(reservation))),
    renew: (claim, leaseMs) => step(scripts.renew, claim, { ...claimFields(claim), leaseMs }),
    checkpoint: (claim, checkpoint) =>
      step(scripts.checkpoint, claim, { ...claimFields(claim), ...checkpointFields(checkpoint) }),
    async complete(claim, completion) {
      const reply = await on(scripts.complete, claim, { ...claimFields(claim), ...answerFields(completion) })
      if (reply === null) return false
      const [expiresAt] = listOf(reply)
      return { expiresAt: expiresAt === undefined ? undefined : numberOf(expiresAt) }
    },
    release: (claim) => step(scripts.release, claim, claimFields(claim)),
    fail: (claim, { errorCode, resumeAfterMs }) =>
      step(scripts.fail, claim, { ...claimFields(claim), errorCode, resumeAfterMs }),
    doubt: (claim, { errorCode, reconcileAfterMs }) =>
      step(scripts.doubt, claim, { ...claimFields(claim), errorCode, reconcileAfterMs }),
    settle: (name, settlement) => step(scripts.settle, name, settlementFields(settlement)),

    sweep: async (limit) => recordsOf(await all(scripts.sweep, { limit: boundedLimit(limit, limits.batch) })),
    async abandon({ operations, limit }) {
      const given = { operations: operations.join('\n'), limit: boundedLimit(limit, limits.batch) }
      return recordsOf(await all(scripts.abandon, given))
    },
    async interrupted({ operations, limit }) {
      const given = { operations: operations.join('\n'), limit: boundedLimit(limit, limits.batch) }
      return recordsOf(await all(scripts.interrupted, given))
    },
    async doubts({ operations, limit, holdMs }) {
      const given = { operations: operations.join('\n'), limit: boundedLimit(limit, limits.batch), holdMs }
      return recordsOf(await all(scripts.doubts, given))
    },
    postpone: (name, plan) => step(scripts.postpone, name, planFields(plan)),
    async reap(limit) {
      const [buried, deleted] = listOf(await all(scripts.reap, { limit: boundedLimit(limit, limits.batch) }))
      return { buried: numberOf(buried), deleted: numberOf(deleted) }
    },

    async reapable(atMost) {
      const most = boundedLimit(atMost, telemetryBounds.countedRows)
      const [buried = 0, deleted = 0] = listOf(await all(scripts.reapable)).map(numberOf)
      return { buried: Math.min(buried, most), deleted: Math.min(deleted, most) }
    },

    find,
    async list(given) {
      const query = { ...given, limit: boundedLimit(given.limit, limits.page) }
      const way = wayOf(query)
      if (way !== 'name') return listOn(connection, root, way, query)
      const { scope, key } = query
      const named = scope && key && 'is' in key ? await find({ scope, key: key.is as RecordName['key'] }) : undefined
      return pageOf(named === undefined ? [] : [named], query)
    },
    async usage(tenant, atMost) {
      const given = { tenant, atMost: boundedLimit(atMost, limits.countedKeys), batch: redisBounds.stretch }
      let [keys, bytes] = listOf(await all(scripts.usage, given))
      for (let tries = 0; bytes === undefined && tries < redisBounds.counts; tries++)
        [keys, bytes] = listOf(await all(scripts.usage, given))
      if (bytes === undefined)
        throw new HapaxError('store_busy', 'Too many keys of this tenant expire at once. Try again.')
      return { keys: numberOf(keys), bytes: numberOf(bytes) }
    },
    async tenants({ limit, after = '' }) {
      const size = boundedLimit(limit, limits.page)
      const found = listOf(await all(scripts.tenants, { after, limit: size + 1 })).map(textOf)
      const tenants = found.slice(0, size)
      return { tenants, next: found.length > size ? tenants.at(-1) : undefined }
    },
    calls: redisCalls(connection, root),
    audit: redisAudit(connection, { root, record }),
    async measure(atMost) {
      const most = boundedLimit(atMost, telemetryBounds.countedRows)
      const [keys = 0, running = 0, runsMs = 0, doubts = 0, doubtMs = 0, left = 0] = listOf(
        await all(scripts.measure),
      ).map(numberOf)
      return {
        keys: Math.min(keys, most),
        inProgress: { count: Math.min(running, most), oldestMs: runsMs },
        unknown: { count: Math.min(doubts, most), oldestMs: doubtMs, leftToOperator: Math.min(left, most) },
      }
    },
    examine: () => examined(connection, root),
  }
}
