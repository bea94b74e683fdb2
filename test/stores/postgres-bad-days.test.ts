import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimed as claimedAs, completion, keys } from '../../dist/conformance/given.js'
import { isRefusal } from '../../src/stores/postgres/faults.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { recorded } from '../support/postgres-recorded.js'
import type { Fate } from '../support/postgres-wire.js'
import { bounded, ended, gate, until } from '../support/waiting.js'
import { claimed, reservation } from './given.js'
import { postgresBench } from './postgres-fixtures/bench.js'

/** A network that falls silent, a table that is locked, a primary that is one no more, answers that are large. */

const said = (code: string, severity?: string) => Object.assign(new Error('said'), { code, severity })

test.each(['ERROR', 'FEHLER', 'エラー'])('a refusal is one in whatever language the server says %s', (severity) => {
  expect(isRefusal(said('23514', severity))).toBe(true)
})

test.each([
  ['57P01', 'FATAL'],
  ['57P01', 'SCHWERWIEGEND'],
  ['25P04', 'FATAL'],
  ['58030', 'PANIC'],
  ['40003', 'FEHLER'],
])('a connection that the server gives up is lost: %s %s', (code, severity) => {
  expect(isRefusal(said(code, severity))).toBe(false)
})

test('an error of a foreign server, said on a healthy connection, is a refusal; one of the network is none', () => {
  expect(isRefusal(said('08001', 'ERROR'))).toBe(true)
  expect(isRefusal(Object.assign(new Error('lost'), { code: 'EPIPE' }))).toBe(false)
})

onPostgres('on a bad day', (url) => {
  declareSilence(url, pgLibrary)
  declareSilence(url, postgresJs)

  describe('by pg', () => {
    const bench = postgresBench(url)

    function connections(max: number): pg.Pool {
      const pool = new pg.Pool({ connectionString: url, max, application_name: bench.schema })
      onTestFinished(() => pool.end())
      return pool
    }

    test('a table that somebody locked does not fill the server with connections that wait', async () => {
      const pool = connections(3)
      const store = postgresStore({ pool, schema: bench.schema, statementTimeout: '100ms', batching: 'off' })
      const locker = await bench.owner.connect()
      await locker.query('BEGIN')
      await locker.query(`LOCK TABLE ${bench.schema}.records IN ACCESS EXCLUSIVE MODE`)
      for (let round = 0; round < 8; round++) {
        const steps = keys(5).map((key) => ended(store.reserve(reservation(`${round} ${key}`))))
        for (const result of await Promise.all(steps)) expect(result.kind).toBe('threw')
      }
      const { rows } = await locker.query(`SELECT FROM pg_stat_activity WHERE application_name = $1`, [bench.schema])
      expect(rows.length).toBeLessThanOrEqual(3)
      await locker.query('COMMIT')
      locker.release()
      await until(
        () => ended(store.find(reservation('after'))),
        ({ kind }) => kind === 'answered',
      )
    })

    test('a connection to a server that became read-only is not used again', async () => {
      const pool = connections(1)
      const store = postgresStore({ pool, schema: bench.schema })
      await pool.query('SET default_transaction_read_only = on')
      expect(await ended(store.reserve(reservation('k')))).toMatchObject({ error: { code: 'store_read_only' } })
      expect(await ended(store.reserve(reservation('k')))).toMatchObject({ answer: { kind: 'reserved' } })
    })

    test('a crowd that replays large answers gets each of them whole', async () => {
      const store = postgresStore({ pool: connections(4), schema: bench.schema })
      const body = (index: number) => Buffer.from(`${index}${'x'.repeat(200_000)}`)
      const large = (index: number) => completion(body(index).toString())
      const names = keys(20)
      const claims = await Promise.all(names.map((key) => claimedAs(store as never, { key })))
      await Promise.all(claims.map((claim, index) => store.complete(claim, large(index))))
      const asked = [...names, ...names].map((key) => store.reserve(reservation(key)))
      for (const [index, verdict] of (await Promise.all(asked)).entries()) {
        const answer = verdict.kind === 'completed' && verdict.answer.kind === 'kept' ? verdict.answer : undefined
        expect(answer && body(index % names.length).equals(answer.body)).toBe(true)
      }
    })

    test('a crowd that replays one large answer has it read a few times, and not once for each', async () => {
      const { pool, sent } = recorded(connections(4))
      const store = postgresStore({ pool, schema: bench.schema })
      const claim = await claimed(store, 'large')
      await store.complete(claim, completion('x'.repeat(200_000)))
      sent.length = 0
      const verdicts = await Promise.all(Array.from({ length: 200 }, () => store.reserve(reservation('large'))))
      const bodies = verdicts.flatMap((verdict) =>
        verdict.kind === 'completed' && verdict.answer.kind === 'kept' ? [verdict.answer.body] : [],
      )
      expect(bodies).toHaveLength(200)
      expect(sent.length).toBeLessThanOrEqual(20)
      for (const body of bodies) {
        expect(body[0]).toBe('x'.charCodeAt(0))
        body.fill(0)
      }
    })

    test('closing lets go of a connection that owes an answer, so that its pool can end', async () => {
      const pool = new pg.Pool({ connectionString: url, max: 1 })
      const store = postgresStore({ pool, schema: bench.schema, statementTimeout: '100ms' })
      const locker = await bench.owner.connect()
      await locker.query('BEGIN')
      await locker.query(`LOCK TABLE ${bench.schema}.records IN ACCESS EXCLUSIVE MODE`)
      expect((await ended(store.find(reservation('k')))).kind).toBe('threw')
      await store.close()
      await bounded(pool.end(), 'a pool to end', 3_000)
      await locker.query('COMMIT')
      locker.release()
    })

    test('closing waits for what is under way', async () => {
      const node = await bench.node(pgLibrary)
      const held = gate()
      const arrived = gate()
      node.wire.rule(async ({ word }): Promise<Fate> => {
        if (word === 'INSERT') {
          arrived.open()
          await held.opened
        }
        return 'pass'
      })
      const reserving = node.store.reserve(reservation('k'))
      await arrived.opened
      let isClosed = false
      const closing = node.store.close().then(() => {
        isClosed = true
      })
      await node.store.find(reservation('another'))
      expect(isClosed).toBe(false)
      held.open()
      expect((await reserving).kind).toBe('reserved')
      await closing
    })

    test('a statement by callback, after the transaction is over, is told so by its callback', async () => {
      const node = await bench.node(pgLibrary)
      const claim = await claimed(node.store, 'k')
      const told = gate<unknown>()
      const escaped = gate<pg.PoolClient>()
      await node.store.transaction(claim, async (tx) => {
        escaped.open(tx)
        return { value: 1, write: { kind: 'complete', ...completion() } }
      })
      const tx = await escaped.opened
      void tx.query('SELECT 1', (error) => told.open(error))
      expect(await told.opened).toMatchObject({ code: 'transaction_ended' })
    })
  })
})

function declareSilence<Tx>(url: string, library: ClientLibrary<Tx>): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)

    test('a handler whose network falls silent is not waited for, and nothing of it stays', async () => {
      const node = await bench.node(library, { statementTimeout: '200ms', transactionTimeout: '200ms' })
      const claim = await claimed(node.store, 'k')
      node.wire.rule(({ text }) => (text.includes('rides') ? 'keep answer' : 'pass'))
      const committing = node.store.transaction(claim, async (tx) => {
        await node.ride(tx, 'one')
        return { value: 1, write: { kind: 'complete', ...completion() } }
      })
      const result = await bounded(ended(committing), 'a silent network', 4_000)
      expect(result).toMatchObject({ kind: 'threw', error: { code: expect.stringMatching(/^(store_|transaction_)/) } })
      await until(
        async () => bench.rides(),
        (rides) => rides.length === 0,
      )
      expect((await bench.outside.find(claim))?.state).toBe('in_progress')
    })

    test('a handler whose many statements wait for each other is not taken for silent', async () => {
      const node = await bench.node(library, { statementTimeout: '400ms', transactionTimeout: '2s' })
      const claim = await claimed(node.store, 'k')
      const committed = await node.store.transaction(claim, async (tx) => {
        await Promise.all(Array.from({ length: 6 }, () => library.say(tx, 'SELECT pg_sleep(0.3)')))
        return { value: 1, write: { kind: 'complete', ...completion() } }
      })
      expect(committed.value).toBe(1)
    })

    test('an error of a foreign server reaches the handler as it is, and at once', async () => {
      const node = await bench.node(library)
      const claim = await claimed(node.store, 'k')
      const raising = `DO $$ BEGIN RAISE EXCEPTION 'elsewhere' USING ERRCODE = '08001'; END $$`
      const result = await bounded(
        ended(
          node.store.transaction(claim, async (tx) => {
            await library.say(tx, raising)
            return { value: 1, write: { kind: 'complete', ...completion() } }
          }),
        ),
        'a foreign error',
        3_000,
      )
      expect(result).toMatchObject({ kind: 'threw', error: { code: '08001' } })
    })
  })
}
