import { randomInt } from 'node:crypto'
import type { SingleOutcome, Store } from 'hapax'
import type pg from 'pg'
import type postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { completion, reservation } from '../../dist/conformance/given.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { ended, until } from '../support/waiting.js'
import { postgresBench, type WiredNode } from './postgres-fixtures/bench.js'
import { untilBlocked } from './postgres-fixtures/blocking.js'
import { name } from './postgres-fixtures/operations.js'

/** A request as one transaction: what PostgreSQL and its clients make hard about it. */
onPostgres('one transaction', (url) => {
  declare(url, pgLibrary)
  declare(url, postgresJs)
})

function declare<Tx extends pg.PoolClient | postgres.TransactionSql>(url: string, library: ClientLibrary<Tx>): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)
    const { outside } = bench
    const state = async () => (await outside.find(name))?.state
    const answered = { value: 7, rows: 'keep', completion: completion() } as const

    /** What the store offers, which every PostgreSQL store does. */
    function singleOf(store: Store<Tx>): NonNullable<Store<Tx>['single']> {
      if (store.single === undefined) throw new Error('a PostgreSQL store has one-transaction mode')
      return store.single
    }
    const ride = (node: WiredNode<Tx>): Promise<SingleOutcome<number>> =>
      singleOf(node.store)(reservation(name), async ({ tx }) => {
        await node.ride(tx, 'one')
        return answered
      })

    test('a handler that met a refused statement may still answer, without its rows', async () => {
      const node = await bench.node(library)
      const outcome = await singleOf(node.store)(reservation(name), async ({ tx }) => {
        await node.ride(tx, 'in vain')
        await expect(library.say(tx, 'SELECT 1 / 0')).rejects.toThrow()
        return { ...answered, rows: 'undo' }
      })
      expect(outcome).toMatchObject({ kind: 'committed', value: 7 })
      expect(await bench.rides()).toEqual([])
      expect(await state()).toBe('completed')
    })

    test('a replay is not told to wait because another one has the key', async () => {
      const node = await bench.node(library)
      await ride(node)
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => ride(node)))
      for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'judged', verdict: { kind: 'completed' } })
      expect(await bench.rides()).toEqual(['one'])
    })

    test('a request that reserves in the usual way meanwhile is not held up, and the one transaction rolls back', async () => {
      const node = await bench.node(library)
      const running = singleOf(node.store)(reservation(name), async ({ tx }) => {
        await node.ride(tx, 'one')
        expect(await outside.reserve(reservation(name))).toMatchObject({ kind: 'reserved' })
        return answered
      })
      expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'claim_lost' } })
      expect(await bench.rides()).toEqual([])
      expect(await state()).toBe('in_progress')
    })

    test('what a handler sends after it has answered reaches no connection', async () => {
      const node = await bench.node(library)
      let late: Promise<unknown> = Promise.resolve()
      await singleOf(node.store)(reservation(name), async ({ tx }) => {
        late = new Promise((resolve) => setImmediate(resolve)).then(() => node.ride(tx, 'late'))
        late.catch(() => undefined)
        return { ...answered, rows: 'undo' }
      })
      await expect(late).rejects.toMatchObject({ code: 'transaction_ended' })
      expect(await bench.rides()).toEqual([])
    })

    test('a COMMIT whose reply is lost is answered as committed', async () => {
      const node = await bench.node(library)
      node.wire.rule(({ word }) => (word === 'COMMIT' && commits(node) === 1 ? 'cut after' : 'pass'))
      expect(await ended(ride(node))).toMatchObject({ kind: 'answered', answer: { kind: 'committed', value: 7 } })
      expect(await bench.rides()).toEqual(['one'])
    })

    test('a COMMIT that never reached the server throws, and there is neither row nor record', async () => {
      const node = await bench.node(library)
      node.wire.rule(({ word }) => (word === 'COMMIT' && commits(node) === 1 ? 'cut before' : 'pass'))
      expect(await ended(ride(node))).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
      expect(await bench.rides()).toEqual([])
      expect(await state()).toBeUndefined()
    })

    test('a COMMIT that is still under way is waited for, though its record is not to be seen yet', async () => {
      const node = await bench.node(library)
      const key = randomInt(2 ** 31 - 1)
      const { owner, schema } = bench
      await owner.query(`CREATE OR REPLACE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock(${key}); RETURN NULL; END $$`)
      await owner.query(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${schema}.rides
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`)
      const keeper = await owner.connect()
      try {
        await keeper.query('SELECT pg_advisory_lock($1)', [key])
        const running = ended(ride(node))
        const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1`
        await until(
          () => owner.query(waits, [key]),
          ({ rows }) => rows.length > 0,
          'COMMIT to wait',
        )
        node.wire.statements.findLast(({ word }) => word === 'COMMIT')?.cut()
        // The look waits for the key, since there is no row yet that it could wait for.
        await untilBlocked(owner, 'SELECT count(pg_advisory_xact_lock($1::bigint))')
        await keeper.query('SELECT pg_advisory_unlock($1)', [key])
        expect(await running).toMatchObject({ kind: 'answered', answer: { kind: 'committed', value: 7 } })
        expect(await bench.rides()).toEqual(['one'])
      } finally {
        keeper.release()
        await owner.query(`DROP TRIGGER slow ON ${schema}.rides`)
      }
    })
  })
}

/** How many COMMITs the wire has seen. */
function commits({ wire }: { wire: WiredNode<never>['wire'] }): number {
  return wire.statements.filter(({ word }) => word === 'COMMIT').length
}
