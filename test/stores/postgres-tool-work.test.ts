import { afterEach, describe, expect, test } from 'vitest'
import { claimed, completion, reservation } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { begins } from '../../dist/stores/postgres/transactions/source.js'
import { onPostgres } from '../support/on-postgres.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { type Nesting, nestsInTime, outlives } from './postgres-fixtures/nesting.js'
import { claim, name } from './postgres-fixtures/operations.js'
import { drizzleOnPgFixture, drizzleOnPostgresJsFixture } from './postgres-tools/drizzle.js'
import type { ToolFixture, ToolNode } from './postgres-tools/fixture.js'
import { knexFixture } from './postgres-tools/knex.js'
import { kyselyFixture } from './postgres-tools/kysely.js'
import { pgliteFixture } from './postgres-tools/pglite.js'
import { prismaFixture } from './postgres-tools/prisma.js'
import { typeOrmFixture } from './postgres-tools/typeorm.js'

/** The outbox, the inbox and one-transaction mode, in the transactions of the tool that an application has. */
onPostgres('work', (url) => {
  declare(url, kyselyFixture)
  declare(url, drizzleOnPgFixture)
  declare(url, drizzleOnPostgresJsFixture)
  declare(url, prismaFixture)
  declare(url, knexFixture)
  declare(url, typeOrmFixture)
  declare(url, pgliteFixture)
  declareNesting(url, drizzleOnPgFixture)
  declareNesting(url, drizzleOnPostgresJsFixture)
  declareNesting(url, knexFixture)
  declareNesting(url, typeOrmFixture)
})

const result = { providerId: 'p', result: Buffer.from('{}') }

function declare<Tx>(url: string, tool: ToolFixture<Tx>): void {
  describe(`by ${tool.name}`, () => {
    const bench = postgresBench(url)
    const nodes: ToolNode<Tx>[] = []
    afterEach(async () => void (await Promise.all(nodes.splice(0).map((node) => node.end()))))

    const given = async () => {
      const node = await tool.connect({ url, bench, options: {} })
      nodes.push(node)
      return node
    }

    test('an effect is written with its phase, and ends with what follows from it', async () => {
      const { store, outside, ride, rides } = await given()
      await claimed(outside, { ...name, claimId: claim.claimId })
      const effects = [effect('a', { order: 'ride 7' }), effect('b', { sequence: 2 })]
      await store.transaction(claim, async (tx) => {
        await ride(tx, 'one')
        return { value: 7, write: { kind: 'complete', ...completion() }, effects }
      })
      const [a, b] = await store.effects.claim({ kinds: ['receipt.send'], limit: 10, leaseMs: 1_000 })
      expect([a?.order, b?.order]).toEqual(['ride 7', undefined])
      if (a === undefined) throw new Error('there is no effect')
      await store.effects.apply(a, result, async (tx) => void (await ride(tx, 'two')))
      expect(await store.effects.find(a.id)).toMatchObject({ state: 'done', providerId: 'p' })
      expect(await rides()).toEqual(['one', 'two'])
    })

    test('an event is processed once, with its rows and what it testifies', async () => {
      const { store, ride, rides } = await given()
      const testimony = { downstreamKey: 'down-a', says: 'landed', by: 'webhook:airtm', why: 'evt_1' } as const
      const receive = () =>
        store.inbox.receive({ provider: 'airtm', eventId: 'evt_1' }, async (tx) => {
          await ride(tx, 'paid')
          return { value: 7, testimonies: [testimony] }
        })
      expect(await receive()).toEqual({ kind: 'processed', value: 7 })
      expect(await receive()).toEqual({ kind: 'duplicate' })
      expect(await rides()).toEqual(['paid'])
      expect(await store.calls.testimonies(['down-a'])).toMatchObject([testimony])
    })

    test('a request is one transaction, with its rows or without them', async () => {
      const { store, outside, ride, rides } = await given()
      const single = (rows: 'keep' | 'undo', key = name) =>
        store.single(reservation({ ...key }), async ({ tx }) => {
          await ride(tx, rows)
          return { value: 7, rows, completion: completion(), effects: [effect('c')] }
        })
      expect(await single('undo')).toMatchObject({ kind: 'committed', value: 7 })
      expect(await rides()).toEqual([])
      expect(await outside.find(name)).toMatchObject({ state: 'completed', hasEffects: false })
      expect(await single('keep')).toMatchObject({ kind: 'judged', verdict: { kind: 'completed' } })
      const other = { ...name, scope: reservation().scope, key: reservation().key }
      expect(await single('keep', other)).toMatchObject({ kind: 'committed', value: 7 })
      expect(await rides()).toEqual(['keep'])
      expect(await store.effects.findByKey('down-c')).toMatchObject({ state: 'ready' })
    })

    test('a request joins a transaction that the caller opened, and a failure leaves that as it was', async () => {
      const { store, handle, outside, ride, rides } = await given()
      await begins(handle)(async (tx) => {
        const failing = store.single(
          reservation({ ...name }),
          async (at) => {
            await ride(at.tx, 'in vain')
            throw new Error('gave up')
          },
          tx,
        )
        await expect(failing).rejects.toThrow('gave up')
        const joined = store.single(
          reservation({ ...name }),
          async (at) => {
            await ride(at.tx, 'joined')
            return { value: 7, rows: 'keep', completion: completion() }
          },
          tx,
        )
        expect(await joined).toMatchObject({ kind: 'committed', value: 7 })
      })
      expect(await rides()).toEqual(['joined'])
      expect(await outside.find(name)).toMatchObject({ state: 'completed' })
    })

    test('a handler that goes on after its request has ended, or was given up, writes nothing into the transaction of the caller', async () => {
      const { store, handle, ride, rides } = await given()
      const late: Promise<unknown>[] = []
      await begins(handle)(async (tx) => {
        const handed: Tx[] = []
        const joined = (rows: 'keep' | 'undo' | 'throw') =>
          store.single(
            reservation({ ...name }),
            async (at) => {
              handed.push(at.tx)
              await ride(at.tx, rows)
              if (rows === 'throw') throw new Error('its time is over')
              return { value: 7, rows, completion: completion() }
            },
            tx,
          )
        await expect(joined('throw')).rejects.toThrow('its time is over')
        await joined('keep')
        for (const gone of handed) late.push(ride(gone, 'too late').catch((error: unknown) => error))
        expect(handed).toHaveLength(2)
        for (const told of await Promise.all(late)) expect(String(told)).toMatch(/transaction is over|ended|late/i)
        await ride(tx as Tx, 'of the caller')
      })
      expect(await rides()).toEqual(['keep', 'of the caller'])
    })
  })
}

/** Nested transactions, by the tools that have them and can keep them apart from those of the caller. */
function declareNesting<Tx>(url: string, tool: ToolFixture<Tx>): void {
  describe(`nested by ${tool.name}`, () => {
    const bench = postgresBench(url)
    const nodes: ToolNode<Tx>[] = []
    afterEach(async () => void (await Promise.all(nodes.splice(0).map((node) => node.end()))))

    const given = async (): Promise<Nesting<Tx>> => {
      const { store, handle, ride, rides, nest, end, outside, ask } = await tool.connect({ url, bench, options: {} })
      nodes.push({ store, handle, ride, rides, end, outside, ask })
      if (nest === undefined) throw new Error(`${tool.name} has none`)
      return {
        begins: (body) => begins(handle)((tx) => body(tx as Tx)),
        joined: (tx, body) =>
          store.single(
            reservation({ ...name }),
            async (at) => {
              await body(at.tx)
              return { value: 7, rows: 'keep', completion: completion() }
            },
            tx,
          ),
        nest,
        ride,
        rides,
      }
    }

    test.each(['before he commits', 'when he has committed'] as const)(
      'one that outlives its request and goes on %s leaves the transaction of the caller as it was',
      async (until) => outlives(until, await given()),
    )

    test('in time, one that fails undoes its own rows alone', async () => nestsInTime(await given()))
  })
}
