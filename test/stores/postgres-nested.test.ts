import type { Store } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import { Kysely, PostgresDialect } from 'kysely'
import postgres from 'postgres'
import { DataSource, EntitySchema } from 'typeorm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { reservation } from '../../dist/conformance/given.js'
import { begins } from '../../dist/stores/postgres/transactions/source.js'
import { onPostgres } from '../support/on-postgres.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { name } from './postgres-fixtures/operations.js'
import { poolOfTool, type ToolFixture } from './postgres-tools/fixture.js'
import { knexFixture } from './postgres-tools/knex.js'
import { kyselyFixture } from './postgres-tools/kysely.js'
import { prismaFixture } from './postgres-tools/prisma.js'

/** What each tool has of its own to nest with, when the time of a joined handler is over. */
onPostgres('a nested transaction', (url) => {
  const bench = postgresBench(url)
  const over = 'its time is over'

  async function given<Tx>(tool: ToolFixture<Tx>) {
    const node = await tool.connect({ url, bench, options: {} })
    onTestFinished(async () => void (await node.end()))
    return { ...node, joined: joinedBy(node.store) }
  }

  /** Runs until `body` is over, and gives up then. */
  const joinedBy =
    <Tx>({ single }: Pick<Required<Store<Tx>>, 'single'>) =>
    async (tx: Tx | undefined, body: (tx: Tx) => Promise<unknown>) => {
      const request = single(
        reservation(name),
        async (at) => {
          await body(at.tx)
          throw new Error(over)
        },
        tx,
      )
      await expect(request).rejects.toThrow(over)
    }

  const ended = { code: 'transaction_ended' }

  describe('by Knex', () => {
    test('one that nobody ends takes nothing more, and does not hold up those of the caller', async () => {
      const { handle, joined, ride, nest } = await given(knexFixture)
      await begins(handle)(async (given) => {
        const tx = given as Parameters<typeof ride>[0]
        let inner: typeof tx | undefined
        await joined(tx, async (tx) => {
          inner = await tx.transaction()
          await ride(inner, 'early')
        })
        await expect(ride(inner as typeof tx, 'too late')).rejects.toMatchObject(ended)
        await nest?.(tx, async (own) => void (await ride(own, 'of the caller')))
      })
      expect(await bench.rides()).toEqual(['of the caller'])
    })

    test.each(['savepoint', 'transactionProvider', 'batchInsert'] as const)(
      'what %s opens is sealed too',
      async (way) => {
        const { handle, joined, ride } = await given(knexFixture)
        await begins(handle)(async (given) => {
          const tx = given as Parameters<typeof ride>[0]
          let late = () => Promise.resolve<unknown>(undefined)
          await joined(tx, async (tx) => {
            if (way === 'batchInsert') {
              // It begins only after a while.
              const asked = tx.batchInsert(`${bench.schema}.rides`, [{ name: 'too late' }])
              late = async () => asked
              asked.catch(() => undefined)
              return
            }
            const opened =
              way === 'savepoint'
                ? await new Promise<typeof tx>((given) => void tx.savepoint((inner) => given(inner)))
                : await tx.transactionProvider()()
            late = () => ride(opened, 'too late')
          })
          await expect(late()).rejects.toMatchObject(ended)
          await ride(tx, 'of the caller')
        })
        expect(await bench.rides()).toEqual(['of the caller'])
      },
    )

    test('in time, what batchInsert writes is kept', async () => {
      const { handle, joined, ride } = await given(knexFixture)
      await begins(handle)(async (given) => {
        const tx = given as Parameters<typeof ride>[0]
        await joined(tx, async (tx) => {
          await tx.batchInsert(`${bench.schema}.rides`, [{ name: 'a' }, { name: 'b' }], 1)
          expect(await tx(`${bench.schema}.rides`).pluck('name')).toEqual(['a', 'b'])
        })
      })
    })
  })

  describe('by Kysely', () => {
    test('the savepoints of one that is ended by hand are refused when they come late, in every form of it', async () => {
      const { store } = await given(kyselyFixture)
      const db = new Kysely<{ rides: { name: string } }>({ dialect: new PostgresDialect({ pool: poolOfTool(url) }) })
      onTestFinished(() => db.destroy())
      const tx = await db.startTransaction().execute()
      const late: (() => Promise<unknown>)[] = []
      await joinedBy(store)(tx, async (given) => {
        const handed = given as typeof tx
        const inner = await handed.savepoint('early').execute()
        for (const form of [handed, inner, handed.withSchema(bench.schema), handed.withoutPlugins()])
          late.push(
            () => form.releaseSavepoint('early' as never).execute(),
            () => form.rollback().execute(),
            () => form.withSchema(bench.schema).insertInto('rides').values({ name: 'too late' }).execute(),
          )
        expect(handed.fn.countAll()).toBeDefined()
      })
      for (const say of late) await expect(say()).rejects.toMatchObject(ended)
      await tx.withSchema(bench.schema).insertInto('rides').values({ name: 'of the caller' }).execute()
      await tx.commit().execute()
      expect(await bench.rides()).toEqual(['of the caller'])
    })
  })

  describe('by Prisma', () => {
    test('is refused where the transaction was joined, and harms nobody', async () => {
      const { handle, joined, ride, nest } = await given(prismaFixture)
      await begins(handle)(async (given) => {
        const tx = given as Parameters<typeof ride>[0]
        await joined(tx, async (tx) => {
          const nested = nest?.(tx, async (inner) => void (await ride(inner, 'in vain')))
          await expect(nested).rejects.toMatchObject({ code: 'transaction_nested' })
        })
        await ride(tx, 'of the caller')
      })
      expect(await bench.rides()).toEqual(['of the caller'])
    })
  })

  describe('by TypeORM', () => {
    test('what a subscriber writes for a handler that is late is refused as well', async () => {
      const rides = new EntitySchema<{ name: string }>({
        name: 'Ride',
        schema: bench.schema,
        tableName: 'rides',
        columns: { name: { type: 'text', primary: true } },
      })
      const source = new DataSource({ type: 'postgres', url, entities: [rides] })
      await source.initialize()
      onTestFinished(() => source.destroy())
      const audited: unknown[] = []
      source.subscribers.push({
        async beforeInsert({ manager }) {
          const written = manager.query(`INSERT INTO ${bench.schema}.rides VALUES ('of the subscriber')`)
          await written.catch((error: unknown) => audited.push(error))
        },
      })
      const pool = poolOfTool(url)
      onTestFinished(() => pool.end())
      const store = postgresStore({ pool, schema: bench.schema, transactions: source })
      await source.transaction(async (manager) => {
        let handed = manager
        await joinedBy(store)(manager, async (tx) => {
          handed = tx
        })
        await expect(handed.getRepository(rides).insert({ name: 'too late' })).rejects.toMatchObject(ended)
      })
      expect(audited).toMatchObject([ended])
      expect(await bench.rides()).toEqual([])
    })
  })

  describe('by postgres.js', () => {
    test('one that outlives a transaction of ours sends nothing into the next on its connection', async () => {
      const sql = postgres(url, { max: 1, prepare: false, fetch_types: false, onnotice: () => undefined })
      onTestFinished(() => sql.end({ timeout: 1 }))
      const store = postgresStore({ pool: sql, schema: bench.schema })
      let goOn = () => {}
      const late = new Promise<void>((resolve) => {
        goOn = resolve
      })
      let told: Promise<unknown> | undefined
      await joinedBy(store)(undefined, async (tx) => {
        await new Promise<void>((inside) => {
          told = tx
            .savepoint(async (inner) => {
              await inner.unsafe('SELECT 1')
              inside()
              await late
              await inner.unsafe('SELECT 2')
            })
            .catch((error: unknown) => error)
        })
      })
      await sql.begin(async (next) => {
        await next.unsafe(`INSERT INTO ${bench.schema}.rides VALUES ('a')`)
        goOn()
        expect(await told).toMatchObject(ended)
        await next.unsafe(`INSERT INTO ${bench.schema}.rides VALUES ('b')`)
      })
      expect(await bench.rides()).toEqual(['a', 'b'])
    })
  })
})
