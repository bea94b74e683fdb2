import type { SingleAttempt, SingleStep, Store } from 'hapax'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { completion, reservation } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { type Nesting, nestsInTime, outlives } from './postgres-fixtures/nesting.js'
import { name } from './postgres-fixtures/operations.js'

/** A request in a transaction that the caller opened: it commits with him, or not at all, and never harms him. */
onPostgres('a transaction that the caller opened', (url) => {
  declare<pg.PoolClient>(url, pgLibrary, async (body) => {
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    onTestFinished(() => pool.end())
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await body(client)
      await client.query('COMMIT')
    } catch (error) {
      await client.query('ROLLBACK')
      throw error
    } finally {
      client.release()
    }
  })
  declare<postgres.TransactionSql>(url, postgresJs, begunByPostgresJs(url))
  declareNesting(url)
})

function begunByPostgresJs(url: string): Begins<postgres.TransactionSql> {
  return async (body) => {
    const sql = postgres(url, { max: 1, onnotice: () => undefined })
    onTestFinished(() => sql.end())
    await sql.begin((tx) => body(tx))
  }
}

type Begins<Tx> = (body: (tx: Tx) => Promise<void>) => Promise<void>

function declare<Tx>(url: string, library: ClientLibrary<Tx>, begins: Begins<Tx>): void {
  describe(`by ${library.name}`, () => {
    const bench = postgresBench(url)
    const answered: SingleStep<number> = { value: 7, rows: 'keep', completion: completion() }
    const state = async () => (await bench.outside.find(name))?.state

    async function given() {
      const { store, ride } = await bench.node(library)
      const single = (joins: Tx, body: (at: SingleAttempt<Tx>) => Promise<SingleStep<number>>) =>
        (store as Required<Store<Tx>>).single(reservation(name), body, joins)
      return { ride, single }
    }

    test('its rows, its effects, the answer and the rows of the caller commit together', async () => {
      const { ride, single } = await given()
      await begins(async (tx) => {
        await ride(tx, 'of the caller')
        const outcome = await single(tx, async (at) => {
          await ride(at.tx, 'of the request')
          return { ...answered, effects: [effect('a')] }
        })
        expect(outcome).toMatchObject({ kind: 'committed', value: 7 })
        expect(await bench.rides()).toEqual([])
        expect(await state()).toBeUndefined()
      })
      expect(await bench.rides()).toEqual(['of the caller', 'of the request'])
      expect(await state()).toBe('completed')
      expect(await bench.outside.effects?.findByKey('down-a')).toMatchObject({ state: 'ready' })
    })

    test('when the caller rolls back, nothing of the request is left', async () => {
      const { ride, single } = await given()
      const undone = begins(async (tx) => {
        await single(tx, async (at) => {
          await ride(at.tx, 'of the request')
          return answered
        })
        throw new Error('the caller gave up')
      })
      await expect(undone).rejects.toThrow('the caller gave up')
      expect(await bench.rides()).toEqual([])
      expect(await state()).toBeUndefined()
    })

    test('a request that fails leaves the transaction of the caller as it was', async () => {
      const { ride, single } = await given()
      await begins(async (tx) => {
        await ride(tx, 'of the caller')
        const failing = single(tx, async (at) => {
          await ride(at.tx, 'in vain')
          await library.say(at.tx, 'SELECT 1 / 0')
          return answered
        })
        await expect(failing).rejects.toMatchObject({ code: '22012' })
        await ride(tx, 'of the caller, too')
      })
      expect(await bench.rides()).toEqual(['of the caller', 'of the caller, too'])
      expect(await state()).toBeUndefined()
    })

    test('an answer that undoes its rows leaves those of the caller', async () => {
      const { ride, single } = await given()
      await begins(async (tx) => {
        await ride(tx, 'of the caller')
        await single(tx, async (at) => {
          await ride(at.tx, 'in vain')
          return { ...answered, rows: 'undo' }
        })
      })
      expect(await bench.rides()).toEqual(['of the caller'])
      expect(await state()).toBe('completed')
    })

    test('a duplicate is told to wait until the caller has ended his transaction, and then gets the answer', async () => {
      const { single } = await given()
      const other = await bench.node(library)
      const again = () => (other.store as Required<Store<Tx>>).single(reservation(name), async () => answered)
      await begins(async (tx) => {
        await single(tx, async () => answered)
        expect(await again()).toMatchObject({ kind: 'judged', verdict: { kind: 'in_progress' } })
      })
      expect(await again()).toMatchObject({ kind: 'judged', verdict: { kind: 'completed' } })
    })

    test('a handler that goes on after its request has ended writes nothing into the transaction of the caller', async () => {
      const { ride, single } = await given()
      await begins(async (tx) => {
        let handed: Tx | undefined
        const body = (step: () => SingleStep<number>) => async (at: SingleAttempt<Tx>) => {
          handed = at.tx
          await ride(at.tx, 'of the request')
          return step()
        }
        const givenUp = single(
          tx,
          body(() => {
            throw new Error('its time is over')
          }),
        )
        await expect(givenUp).rejects.toThrow('its time is over')
        await expect(ride(handed as Tx, 'too late')).rejects.toMatchObject({ code: 'transaction_ended' })
        await single(
          tx,
          body(() => answered),
        )
        await expect(ride(handed as Tx, 'too late')).rejects.toMatchObject({ code: 'transaction_ended' })
        await ride(tx, 'of the caller')
      })
      expect(await bench.rides()).toEqual(['of the caller', 'of the request'])
    })

    test.each(['answers', 'undoes its rows', 'throws'])('a request that %s leaves no savepoint behind', async (way) => {
      const { ride, single } = await given()
      const undone = begins(async (tx) => {
        const joined = single(tx, async (at) => {
          await ride(at.tx, 'of the request')
          if (way === 'throws') throw new Error('gave up')
          return { ...answered, rows: way === 'answers' ? 'keep' : 'undo' }
        })
        await joined.catch(() => undefined)
        // The last ones are how postgres.js calls its own.
        for (const savepoint of ['hapax_single', 'hapax_rows', 's0', 's1']) {
          await library.say(tx, 'SAVEPOINT probe')
          await expect(library.say(tx, `RELEASE SAVEPOINT ${savepoint}`)).rejects.toMatchObject({ code: '3B001' })
          await library.say(tx, 'ROLLBACK TO SAVEPOINT probe')
        }
        throw new Error('looked')
      })
      await expect(undone).rejects.toThrow(/looked|does not exist/)
    })

    test('what is no transaction is refused', async () => {
      const { single } = await given()
      const refused = single({} as Tx, async () => answered)
      await expect(refused).rejects.toMatchObject({ code: 'store_unknown' })
    })
  })
}

function declareNesting(url: string): void {
  describe('nested by postgres.js', () => {
    const bench = postgresBench(url)

    async function given(): Promise<Nesting<postgres.TransactionSql>> {
      const { store, ride } = await bench.node(postgresJs)
      const { single } = store as Required<Store<postgres.TransactionSql>>
      return {
        begins: begunByPostgresJs(url),
        joined: (tx, body) =>
          single(
            reservation(name),
            async (at) => {
              await body(at.tx)
              return { value: 7, rows: 'keep', completion: completion() }
            },
            tx,
          ),
        nest: (tx, body) => tx.savepoint(body),
        ride,
        rides: bench.rides,
      }
    }

    test.each(['before he commits', 'when he has committed'] as const)(
      'one that outlives its request and goes on %s leaves the transaction of the caller as it was',
      async (until) => outlives(until, await given()),
    )

    test('in time, one that fails undoes its own rows alone', async () => nestsInTime(await given()))
  })
}
