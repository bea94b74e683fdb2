import type { Finding } from 'hapax'
import { migratePostgres, postgresRights, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noServer, serverUrl } from '../support/on-postgres.js'
import { poolOn } from '../support/postgres-pool.js'
import { type OwnPostgres, ownPostgres, standbyBinaries } from '../support/postgres-server.js'
import { until } from '../support/waiting.js'

/** What the store says of a primary, of its standbys, and of a server that may forget. The tests follow each other. */

const binaries = serverUrl === undefined ? { missing: noServer } : await standbyBinaries(serverUrl)

if ('missing' in binaries) test.skip(`what is said of standbys (skipped: ${binaries.missing})`, () => {})
else
  describe('standbys', () => {
    let primary: OwnPostgres
    let standby: OwnPostgres
    const pools: pg.Pool[] = []
    let owner: pg.Pool

    beforeAll(async () => {
      primary = await ownPostgres(binaries)
      await primary.start()
      owner = connect(primary.url)
      await migratePostgres({ pool: owner })
      await owner.query('CREATE ROLE serving LOGIN')
      for (const statement of postgresRights({ role: 'serving' })) await owner.query(statement)
      standby = await primary.standby()
      await attached('async')
    }, 30_000)

    afterAll(async () => {
      for (const pool of pools) await pool.end()
      await standby?.remove()
      await primary?.remove()
    })

    test('a standby takes no writes, so the store does not open on it: store_read_only', async () => {
      const store = postgresStore({ pool: connect(standby.url) })
      await expect(store.open()).rejects.toMatchObject({
        code: 'store_read_only',
        message: expect.stringMatching(/is a standby .* Connect to the primary/),
      })
    })

    test('an asynchronous standby is a warning, and the store opens', async () => {
      const store = postgresStore({ pool: owner })
      await store.open()
      expect(await standbys(owner)).toMatchObject({
        level: 'warning',
        says: expect.stringMatching(/^1, and a commit waits for none: .* Set synchronous_standby_names\.$/),
      })
    })

    test('a role that may not look at the standbys is told so, and may after the grant', async () => {
      const pool = connect(primary.url.replace('postgres@', 'serving@'))
      expect(await standbys(pool)).toMatchObject({
        level: 'warning',
        says: expect.stringMatching(/^1 that serving may not look at\. GRANT pg_read_all_stats TO serving/),
      })
      await owner.query('GRANT pg_read_all_stats TO serving')
      expect(await standbys(pool)).toMatchObject({ says: expect.stringMatching(/a commit waits for none/) })
    })

    test.each([
      ['*', 'sync', /^1 synchronous: fail over/],
      ['ANY 1 (*)', 'quorum', /^1 in a quorum: fail over/],
    ])('standbys that a commit waits for are in order: %s', async (names, state, says) => {
      await setNames(names)
      await attached(state)
      expect(await standbys(owner)).toMatchObject({ level: 'ok', says: expect.stringMatching(says) })
    })

    test('a role whose commits do not wait for them is a warning', async () => {
      const pool = connect(primary.url, '-c synchronous_commit=local')
      expect(await standbys(pool)).toMatchObject({
        level: 'warning',
        says: expect.stringMatching(/Set synchronous_commit to on\.$/),
      })
    })

    test('commits that wait for a standby that went away are a warning', async () => {
      await standby.stop()
      await attached(undefined)
      expect(await standbys(owner)).toMatchObject({
        level: 'warning',
        says: expect.stringMatching(/none .* is attached/),
      })
      await setNames('')
    })

    test('a server without fsync is refused: store_not_durable; unchecked it is a warning', async () => {
      await primary.start({ fsync: 'off' })
      const pool = connect(primary.url)
      await expect(postgresStore({ pool }).open()).rejects.toMatchObject({
        code: 'store_not_durable',
        message: expect.stringMatching(/^fsync is off/),
      })
      const unchecked = postgresStore({ pool, durability: 'unchecked' })
      await unchecked.open()
      expect(await finding(unchecked, 'disk')).toMatchObject({ level: 'warning' })
    })

    test('a server that may tear pages is a warning', async () => {
      await primary.start({ full_page_writes: 'off' })
      const store = postgresStore({ pool: connect(primary.url) })
      await store.open()
      expect(await finding(store, 'disk')).toMatchObject({ level: 'warning', says: expect.stringMatching(/ZFS/) })
    })

    function connect(url: string, options = ''): pg.Pool {
      const pool = poolOn(url, { max: 1, options })
      pools.push(pool)
      return pool
    }

    /** Until the primary says so of its one standby. */
    async function attached(state: string | undefined): Promise<void> {
      await until(
        async () => (await owner.query('SELECT state, sync_state FROM pg_stat_replication')).rows,
        (rows) =>
          state === undefined ? rows.length === 0 : rows[0]?.state === 'streaming' && rows[0].sync_state === state,
      )
    }

    async function setNames(names: string): Promise<void> {
      await owner.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await owner.query('SELECT pg_reload_conf()')
      await until(
        async () => (await owner.query('SHOW synchronous_standby_names')).rows[0].synchronous_standby_names,
        (shown) => shown === names,
      )
    }
  })

function standbys(pool: pg.Pool): Promise<Finding | undefined> {
  return finding(postgresStore({ pool }), 'standbys')
}

async function finding(store: { examine(): Promise<readonly Finding[]> }, check: string): Promise<Finding | undefined> {
  return (await store.examine()).find((found) => found.check === check)
}
