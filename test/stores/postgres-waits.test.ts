import { type AddressInfo, createServer, type Socket } from 'node:net'
import { isHapaxError } from 'hapax'
import { type PostgresClient, postgresStore } from 'hapax/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkpoint, claimed, completion, leaseMs } from '../../dist/conformance/given.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { bounded, ended, gate, until } from '../support/waiting.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { blocked } from './postgres-fixtures/blocking.js'
import { claim, name } from './postgres-fixtures/operations.js'

/** Every wait has a bound, and leaves nothing behind. */
onPostgres('waiting for PostgreSQL', (url) => {
  declare(url, pgLibrary)
  declare(url, postgresJs)
  declareForPools(url)
})

const statementTimeout = '300ms'

function declare<Tx>(url: string, library: ClientLibrary<Tx>): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)
    const { outside } = bench
    const given = () => claimed(outside, { ...name, claimId: claim.claimId })

    test.each(['complete', 'checkpoint', 'a transaction'] as const)(
      'behind a row that another session has locked, %s gives up in time, and the next statement works',
      async (what) => {
        await given()
        const node = await bench.node(library, { statementTimeout })
        const rival = await bench.owner.connect()
        try {
          await rival.query('BEGIN')
          await rival.query(`SELECT 1 FROM ${bench.schema}.records FOR UPDATE`)
          const step = {
            complete: () => node.store.complete(claim, completion()),
            checkpoint: () => node.store.checkpoint(claim, checkpoint),
            'a transaction': () =>
              node.store.transaction(claim, async (tx) => {
                await node.ride(tx, 'one')
                return { value: 7, write: { kind: 'complete', ...completion() } }
              }),
          }[what]
          const result = await bounded(ended(step()), 'a step that waits for a lock', 3_000)
          expect(result).toMatchObject({
            kind: 'threw',
            error: { code: expect.stringMatching(/^store_(failed|busy)$/) },
          })
          expect((await node.store.find(name))?.state).toBe('in_progress')
          expect(node.wire.clients).toBeLessThanOrEqual(2)
        } finally {
          await rival.query('ROLLBACK')
          rival.release()
        }
        // A statement that was given up may still have happened, but not a transaction: nobody said COMMIT.
        if (what === 'a transaction') expect(await bench.rides()).toEqual([])
        await noSessionWaits()
        expect(await node.store.renew(claim, leaseMs)).toBe(what !== 'complete' || (await stateNow()) === 'in_progress')
      },
    )

    test('a handler that idles in its transaction is rolled back by name', async () => {
      await given()
      const node = await bench.node(library, { transactionTimeout: '200ms' })
      const never = gate()
      const running = node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        await never.opened
        return { value: 7, write: { kind: 'complete', ...completion() } }
      })
      const result = await bounded(ended(running), 'an idle transaction to end', 3_000)
      expect(result).toMatchObject({ kind: 'threw', error: { code: 'transaction_timeout' } })
      never.open()
      expect((await node.store.find(name))?.state).toBe('in_progress')
      expect(await bench.rides()).toEqual([])
    })

    test('a handler that is busy with statements is not idle, however long it takes', async () => {
      await given()
      const node = await bench.node(library, { transactionTimeout: '200ms' })
      const running = node.store.transaction(claim, async (tx) => {
        for (let n = 0; n < 8; n++) {
          await node.ride(tx, `ride ${n}`)
          await bench.owner.query('SELECT pg_sleep(0.05)')
        }
        return { value: 7, write: { kind: 'complete', ...completion() } }
      })
      expect(await ended(running)).toMatchObject({ kind: 'answered', answer: { value: 7 } })
      expect(await bench.rides()).toHaveLength(8)
    })

    test('a server that accepts and says nothing is given up in time', async () => {
      const sockets = new Set<Socket>()
      const silent = createServer((socket) => sockets.add(socket.on('error', () => undefined)))
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
      const { port } = silent.address() as AddressInfo
      const node = library.connect(`postgres://nobody@127.0.0.1:${port}/none`, { statementTimeout })
      const steps = [
        node.store.open(),
        node.store.find(name),
        node.store.transaction(claim, () => expect.fail('It cannot begin.')),
      ].map(ended)
      for (const step of steps)
        expect(await bounded(step, 'a step without a server', 3_000)).toMatchObject({
          kind: 'threw',
          error: { code: expect.stringMatching(/^store_(busy|failed)$/) },
        })
      for (const socket of sockets) socket.destroy()
      silent.close()
      await node.end()
    })

    const stateNow = async () => (await outside.find(name))?.state
    const noSessionWaits = () =>
      until(
        () => blocked(bench.owner, bench.schema),
        (sessions) => sessions === 0,
        'every wait for a lock to end',
      )
  })
}

function declareForPools(url: string): void {
  describe('a pool', () => {
    const bench = postgresBench(url)

    test('of pg whose connections are all taken is waited for in time, and one that comes late is given back', async () => {
      const pool = new pg.Pool({ connectionString: url, max: 1 })
      onTestFinished(() => pool.end())
      const store = postgresStore({ pool, schema: bench.schema, statementTimeout })
      const taken = await pool.connect()
      const steps = [store.find(name), store.transaction(claim, () => expect.fail('It cannot begin.'))].map(ended)
      for (const step of steps) expect(await step).toMatchObject({ error: { code: 'store_busy' } })
      taken.release()
      expect(await store.find(name)).toBeUndefined()
      expect(pool).toMatchObject({ totalCount: 1, idleCount: 1, waitingCount: 0 })
    })

    test('of postgres.js whose connections are all taken is waited for in time, and a late one runs no handler', async () => {
      const sql = postgres(url, { max: 1, fetch_types: false, prepare: false })
      onTestFinished(() => sql.end({ timeout: 1 }))
      const store = postgresStore({ pool: sql, schema: bench.schema, statementTimeout })
      // With its first connection still to be made, this library would wait for ever.
      await sql`SELECT 1`
      const taken = await sql.reserve()
      let hasRun = false
      const steps = [
        store.find(name),
        store.transaction(claim, async () => {
          hasRun = true
          return { value: 7, write: { kind: 'complete', ...completion() } }
        }),
      ].map(ended)
      // Of a single statement this library does not tell whether it was sent; a transaction that did not begin is none.
      for (const [index, code] of ['store_failed', 'store_busy'].entries())
        expect(await steps[index]).toMatchObject({ error: { code } })
      taken.release()
      expect(await store.find(name)).toBeUndefined()
      expect(hasRun).toBe(false)
    })

    test.each(['0s', 'soon', '-1s', ''])('with a statement timeout of %j is refused at once', async (given) => {
      const pool = new pg.Pool({ connectionString: url })
      for (const which of ['statementTimeout', 'transactionTimeout'] as const)
        expect(codeOf(() => postgresStore({ pool, [which]: given as '1s' }))).toBe('policy_invalid')
    })

    test.each([
      ['nothing', undefined],
      ['a name', 'postgres://localhost'],
      ['an empty object', {}],
      ['the settings of a pool', { connectionString: 'postgres://localhost', max: 4 }],
    ])('that is %s is refused at once, with advice', (_, given) => {
      const make = () => postgresStore({ pool: given as unknown as PostgresClient })
      expect(codeOf(make)).toBe('store_unknown')
      expect(make).toThrow('Give new pg.Pool({ … }) or postgres(url)')
    })

    test('that is a single pg Client is refused at once, whether it is connected or not', async () => {
      const client = new pg.Client({ connectionString: url })
      const make = () => postgresStore({ pool: client as unknown as pg.Pool })
      expect(codeOf(make)).toBe('store_unknown')
      expect(make).toThrow('Give postgresStore a Pool')
      await client.connect()
      expect(codeOf(make)).toBe('store_unknown')
      await client.end()
    })
  })
}

function codeOf(make: () => unknown): string {
  try {
    make()
    return 'it was made'
  } catch (error) {
    return isHapaxError(error) ? error.code : String(error)
  }
}
