import { keyOf, type Store, scopeOf } from 'hapax'
import { migratePostgres } from 'hapax/postgres'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anotherRequest, completion } from '../../dist/conformance/given.js'
import { pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { noServer, serverUrl } from '../support/on-postgres.js'
import { poolOn } from '../support/postgres-pool.js'
import { freshName } from '../support/postgres-schema.js'
import { type OwnPostgres, ownPostgres, serverBinaries } from '../support/postgres-server.js'
import { until } from '../support/waiting.js'
import { claimed, reservation } from './given.js'

/**
 * A replay writes nothing, and the server itself says so: by the rows, by its counters, by the ids of transactions and
 * by the position of its log. The log belongs to the whole server, so this file has one to itself.
 */

const binaries = serverUrl === undefined ? { missing: noServer } : await serverBinaries('anywhere')
const canStart = !('missing' in binaries)

/** More than the numbers that an identity column takes from its sequence at once, so that taking any would be seen. */
const times = 64
const hour = 3_600_000
type AnyStore = Store<unknown>
const name = (key: string) => ({ scope: scopeOf('acme'), key: keyOf(key) })

describe.skipIf(!canStart)(canStart ? 'replays' : `replays (skipped: ${binaries.missing})`, () => {
  let server: OwnPostgres
  let watcher: pg.Pool

  beforeAll(async () => {
    if (!canStart) return
    server = await ownPostgres(binaries)
    await server.start()
    watcher = poolOn(server.url, { max: 1 })
    await watcher.query('ALTER SYSTEM SET autovacuum = off')
    await watcher.query(`ALTER SYSTEM SET checkpoint_timeout = '1h'`)
    await watcher.query('SELECT pg_reload_conf()')
  })

  afterAll(async () => {
    await watcher?.end()
    await server?.remove()
  })

  test.each([
    ['by pg', pgLibrary, 'off'],
    ['by postgres.js', postgresJs, 'off'],
    ['by pg, under row security', pgLibrary, 'scope'],
    ['by postgres.js, under row security', postgresJs, 'scope'],
  ] as const)(
    'what is answered from a record leaves rows, counters and log as they were, %s',
    async (_, library, rowSecurity) => {
      const schema = freshName()
      const connect = (application: string) => {
        const url = new URL(server.url)
        url.searchParams.set('application_name', application)
        return library.connect(url.href, { schema, connection: 'direct', rowSecurity })
      }
      const isGone = (application: string) =>
        until(
          async () =>
            (await watcher.query('SELECT pid FROM pg_stat_activity WHERE application_name = $1', [application]))
              .rowCount,
          (connections) => connections === 0,
        )
      await migratePostgres({ pool: watcher, schema })
      const before = connect('arranging')
      await arrange(before.store)
      await before.end()
      await isGone('arranging')
      // What the writes above left to tidy up is done now, and not by the first who reads.
      await watcher.query('VACUUM (FREEZE, ANALYZE)')

      const node = connect('replaying')
      await replayAll(node.store)
      const rows = await rowsOf(schema)
      const counted = await countersOf(schema)
      const position = await positionOf()
      const bytes: number[] = []
      for (let round = 1; round <= 3; round++) {
        const start = await positionOf()
        await replayAll(node.store)
        bytes.push(await bytesSince(start.lsn))
      }

      expect((await positionOf()).nextTransaction).toBe(position.nextTransaction)
      // The server may note of its own accord who is running. It does so once after somebody wrote, so never twice here.
      expect(bytes.filter((count) => count > 0).length).toBeLessThanOrEqual(1)
      expect(await rowsOf(schema)).toEqual(rows)
      expect(rows.every(({ xmax }) => xmax === '0')).toBe(true)

      // A connection hands in all that it has counted before it is gone.
      await node.end()
      await isGone('replaying')
      const { reads, writes } = await countersOf(schema)
      expect(writes).toEqual(counted.writes)
      expect(reads).toBeGreaterThan(8 * times)
    },
  )

  async function positionOf(): Promise<{ readonly lsn: string; readonly nextTransaction: string }> {
    const { rows } = await watcher.query(`SELECT pg_current_wal_insert_lsn()::text AS lsn,
      pg_snapshot_xmax(pg_current_snapshot())::text AS "nextTransaction"`)
    return rows[0]
  }

  async function bytesSince(lsn: string): Promise<number> {
    const { rows } = await watcher.query('SELECT (pg_current_wal_insert_lsn() - $1::pg_lsn)::int AS bytes', [lsn])
    return rows[0].bytes
  }

  /** Where each version of each row lies, who wrote it, and who locked it last. */
  async function rowsOf(schema: string): Promise<readonly Record<string, string>[]> {
    const { rows } = await watcher.query(
      `SELECT ctid::text, xmin::text, xmax::text, idempotency_key, revision::text FROM ${schema}.records ORDER BY id`,
    )
    return rows
  }

  async function countersOf(schema: string): Promise<{ readonly reads: number; readonly writes: unknown }> {
    await watcher.query('SELECT pg_stat_clear_snapshot()')
    const { rows } = await watcher.query(
      `SELECT sum(n_tup_ins)::int AS inserted, sum(n_tup_upd)::int AS updated, sum(n_tup_del)::int AS deleted,
        sum(idx_tup_fetch)::int AS reads
      FROM pg_stat_all_tables, pg_class r WHERE r.oid = $1::regclass AND relid IN (r.oid, r.reltoastrelid)`,
      [`${schema}.records`],
    )
    const { reads, ...writes } = rows[0]
    return { reads, writes }
  }
})

/** A record of each kind that a request may find and must leave alone. */
async function arrange(store: AnyStore): Promise<void> {
  await store.complete(await claimed(store, 'completed'), completion())
  await store.complete(await claimed(store, 'large'), {
    ...completion(),
    answer: { kind: 'kept', status: 201, headers: [], body: crypto.getRandomValues(new Uint8Array(65_536)) },
  })
  await claimed(store, 'in progress', { leaseMs: hour })
  await store.doubt(await claimed(store, 'unknown'), { errorCode: 'timeout', reconcileAfterMs: hour })
  await store.complete(await claimed(store, 'expired', { retentionMs: 0 }), completion())
  await store.complete(await claimed(store, 'buried', { retentionMs: 0 }), completion())
  await store.reap(1)
}

/** Everything that is answered from a record, many times and many at once. */
async function replayAll(store: AnyStore): Promise<void> {
  const verdict = async (key: string, changes: Parameters<typeof reservation>[1] = {}) =>
    (await store.reserve(reservation(key, changes))).kind
  for (let count = 0; count < times; count++)
    expect(
      await Promise.all([
        verdict('completed'),
        verdict('large'),
        verdict('in progress'),
        verdict('unknown'),
        verdict('completed', anotherRequest),
        verdict('in progress', anotherRequest),
        verdict('expired', { onExpired: 'refuse' }),
        verdict('buried', { onExpired: 'refuse' }),
      ]),
    ).toEqual(['completed', 'completed', 'in_progress', 'unknown', 'mismatched', 'mismatched', 'expired', 'expired'])
  const found = await store.find(name('completed'))
  expect(found).toMatchObject({ state: 'completed' })
  expect((await store.list({ scope: scopeOf('acme'), limit: 10 })).records).toHaveLength(6)
  expect((await store.list({ state: 'completed', limit: 1 })).records).toHaveLength(1)
  // A completion that is repeated, because its reply was lost, and one that came too late.
  if (found === undefined) throw new Error('unreachable: it was found above')
  expect(await store.complete(found, completion())).toEqual({ expiresAt: found.expiresAt })
  expect(await store.complete({ ...found, claimId: 'of nobody' }, completion())).toBe(false)
  expect(await store.renew(found, hour)).toBe(false)
}
