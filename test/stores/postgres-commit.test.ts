import { randomInt } from 'node:crypto'
import type pg from 'pg'
import type postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { checkpoint, claimed, completion, leaseMs } from '../../dist/conformance/given.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { bounded, ended, gate, until } from '../support/waiting.js'
import { postgresBench, type WiredNode } from './postgres-fixtures/bench.js'
import { untilBlocked } from './postgres-fixtures/blocking.js'
import { claim, name } from './postgres-fixtures/operations.js'

/** What became of a COMMIT whose reply was lost, and of a handler whose connection was lost. */
onPostgres('a COMMIT whose reply is lost', (url) => {
  declare(url, pgLibrary)
  declare(url, postgresJs)
})

const writes = {
  checkpoint: { kind: 'checkpoint', ...checkpoint },
  answer: { kind: 'complete', ...completion() },
} as const
const kinds = ['checkpoint', 'answer'] as const

function declare<Tx extends pg.PoolClient | postgres.TransactionSql>(url: string, library: ClientLibrary<Tx>): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)
    const { outside } = bench

    const given = async () => {
      await claimed(outside, { ...name, claimId: claim.claimId })
      return bench.node(library)
    }
    const commit = ({ store, ride }: WiredNode<Tx>, kind: keyof typeof writes) =>
      store.transaction(claim, async (tx) => {
        await ride(tx, 'one')
        return { value: 7, write: writes[kind] }
      })
    const recoveryPoint = async () => (await outside.find(name))?.recoveryPoint

    describe.each(kinds)('a commit with its %s', (kind) => {
      const committed = kind === 'answer' ? 'finished' : 'ride_created'

      test('whose reply is lost is answered as committed', async () => {
        const node = await given()
        node.wire.rule(({ word }) => (word === 'COMMIT' && commits(node) === 1 ? 'cut after' : 'pass'))
        expect(await ended(commit(node, kind))).toMatchObject({ kind: 'answered', answer: { value: 7 } })
        expect(await bench.rides()).toEqual(['one'])
        expect(await recoveryPoint()).toBe(committed)
      })

      test('that never reached the server throws, and there are no rows', async () => {
        const node = await given()
        node.wire.rule(({ word }) => (word === 'COMMIT' && commits(node) === 1 ? 'cut before' : 'pass'))
        expect(await ended(commit(node, kind))).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
        expect(await bench.rides()).toEqual([])
        expect(await recoveryPoint()).toBe('started')
      })

      test('is not confused by a renewal before it is looked at', async () => {
        const node = await given()
        const looked = gate()
        node.wire.rule(async ({ word, text }) => {
          if (word === 'COMMIT' && commits(node) === 1) return 'cut after'
          if (commits(node) === 1 && text.includes('FOR UPDATE')) {
            if (kind === 'checkpoint') expect(await outside.renew(claim, 3 * leaseMs)).toBe(true)
            looked.open()
          }
          return 'pass'
        })
        expect(await ended(commit(node, kind))).toMatchObject({ kind: 'answered', answer: { value: 7 } })
        await bounded(looked.opened, 'the look')
        if (kind === 'checkpoint')
          expect((await outside.find(name))?.leaseUntil).toBeGreaterThan(Date.UTC(2026, 0, 2, 12, 1))
      })

      test('at which nobody could look afterwards throws, and says neither', async () => {
        const node = await given()
        node.wire.rule(({ word }) =>
          commits(node) === 0 ? 'pass' : word === 'COMMIT' && commits(node) === 1 ? 'cut after' : 'cut before',
        )
        expect(await ended(commit(node, kind))).toMatchObject({
          kind: 'threw',
          error: { code: 'store_failed', message: expect.stringContaining('nobody could look') },
        })
      })

      test.each(['commits', 'is refused'] as const)(
        'that is still under way when it is looked at, and then %s',
        async (end) => {
          const key = randomInt(2 ** 31 - 1)
          await slowCommit(key, end)
          const node = await given()
          const keeper = await bench.owner.connect()
          try {
            await keeper.query('SELECT pg_advisory_lock($1)', [key])
            const committing = ended(commit(node, kind))
            await waitsFor(key)
            node.wire.statements.findLast(({ word }) => word === 'COMMIT')?.cut()
            // The look waits for the row that the commit holds.
            await untilBlocked(bench.owner, bench.schema, 'FOR UPDATE')
            await keeper.query('SELECT pg_advisory_unlock($1)', [key])
            const result = await committing
            if (end === 'commits') expect(result).toMatchObject({ kind: 'answered', answer: { value: 7 } })
            else expect(result).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
            expect(await bench.rides()).toEqual(end === 'commits' ? ['one'] : [])
            expect(await recoveryPoint()).toBe(end === 'commits' ? committed : 'started')
          } finally {
            keeper.release()
            await bench.owner.query(`DROP TRIGGER slow ON ${bench.schema}.rides`)
          }
        },
      )

      test('that a constraint refuses throws, and there are no rows', async () => {
        await slowCommit(randomInt(2 ** 31 - 1), 'is refused')
        const node = await given()
        expect(await ended(commit(node, kind))).toMatchObject({ kind: 'threw', error: { code: 'P0001' } })
        expect(await bench.rides()).toEqual([])
        expect(await recoveryPoint()).toBe('started')
        await bench.owner.query(`DROP TRIGGER slow ON ${bench.schema}.rides`)
      })
    })

    describe('a handler whose connection is lost', () => {
      const goingOn = {
        'sends a statement': (node: WiredNode<Tx>, tx: Tx) => node.ride(tx, 'late'),
        'sends many at once': async (node: WiredNode<Tx>, tx: Tx) => {
          await Promise.allSettled(['late', 'later', 'latest'].map((ride) => node.ride(tx, ride)))
        },
        'returns as if nothing were wrong': async () => {},
      }
      test.each(Object.keys(goingOn) as (keyof typeof goingOn)[])(
        'and %s reaches no connection with it',
        async (how) => {
          const node = await given()
          const written = gate()
          const gone = gate()
          const over = gate()
          const running = ended(
            node.store.transaction(claim, async (tx) => {
              await node.ride(tx, 'one')
              written.open()
              await gone.opened
              await goingOn[how](node, tx).catch(() => undefined)
              over.open()
              return { value: 7, write: writes.answer }
            }),
          )
          await bounded(written.opened, 'the first row')
          node.wire.statements.at(-1)?.cut()
          expect(await running).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
          // The library has a connection again, on which a statement would land.
          await Promise.all([1, 2, 3, 4].map(() => node.store.find(name)))
          const before = node.wire.statements.length
          gone.open()
          await bounded(over.opened, 'the handler to end')
          await node.store.find(name)
          expect(node.wire.statements.slice(before).map(({ word }) => word)).toEqual(['SELECT'])
          expect(await bench.rides()).toEqual([])
          expect((await outside.find(name))?.state).toBe('in_progress')
        },
      )

      test('and that tries again at once, the moment it hears of it, reaches no connection', async () => {
        const node = await given()
        node.wire.rule(({ text }) => (text.includes('rides') ? 'cut before' : 'pass'))
        const running = node.store.transaction(claim, async (tx) => {
          for (const ride of ['one', 'two', 'three']) await node.ride(tx, ride).catch(() => undefined)
          return { value: 7, write: writes.answer }
        })
        expect(await ended(running)).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
        node.wire.heal()
        expect((await node.store.find(name))?.state).toBe('in_progress')
        expect(await bench.rides()).toEqual([])
      })
    })

    if (library.name === 'postgres.js')
      test('a statement made in a savepoint, or made early and awaited late, reaches no connection after a loss', async () => {
        const node = await given()
        const written = gate()
        const gone = gate()
        const over = gate<readonly PromiseSettledResult<unknown>[]>()
        const insert = `INSERT INTO ${bench.schema}.rides VALUES ('late')`
        const running = ended(
          node.store.transaction(claim, async (tx) => {
            const sql = tx as postgres.TransactionSql
            const early = sql.unsafe(insert)
            await sql.savepoint(async (inner) => {
              await inner.unsafe(insert)
              written.open()
              await gone.opened
              over.open(await Promise.allSettled([inner.unsafe(insert), early]))
            })
            return { value: 7, write: writes.answer }
          }),
        )
        await bounded(written.opened, 'the first row')
        node.wire.statements.at(-1)?.cut()
        expect(await running).toMatchObject({ kind: 'threw', error: { code: 'store_failed' } })
        await Promise.all([1, 2, 3, 4].map(() => node.store.find(name)))
        gone.open()
        for (const result of await bounded(over.opened, 'the handler to end'))
          expect(result).toMatchObject({ status: 'rejected', reason: { code: 'transaction_ended' } })
        await node.store.find(name)
        expect(await bench.rides()).toEqual([])
      })

    test('a statement that a handler did not wait for is refused once its function has ended', async () => {
      const node = await given()
      const late = gate()
      const stray = gate<unknown>()
      await node.store.transaction(claim, async (tx) => {
        void late.opened.then(() => node.ride(tx, 'stray')).then(stray.open, stray.open)
        return { value: 7, write: writes.checkpoint }
      })
      late.open()
      expect(await bounded(stray.opened, 'the stray')).toMatchObject({ code: 'transaction_ended' })
      expect(await bench.rides()).toEqual([])
    })

    /** COMMIT waits for a lock that the test holds, and is refused then if that is wanted. */
    async function slowCommit(key: number, end: 'commits' | 'is refused'): Promise<void> {
      const { schema, owner } = bench
      await owner.query(`CREATE OR REPLACE FUNCTION ${schema}.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM pg_advisory_xact_lock(${key});
        ${end === 'commits' ? '' : `RAISE EXCEPTION 'refused at commit';`}
        RETURN NULL; END $$`)
      await owner.query(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ${schema}.rides
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${schema}.slow()`)
    }

    async function waitsFor(key: number): Promise<void> {
      const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1`
      await until(
        () => bench.owner.query(waits, [key]),
        ({ rows }) => rows.length > 0,
        'COMMIT to wait',
      )
    }
  })
}

/** How many COMMITs the wire has seen. */
function commits({ wire }: { wire: WiredNode<never>['wire'] }): number {
  return wire.statements.filter(({ word }) => word === 'COMMIT').length
}
