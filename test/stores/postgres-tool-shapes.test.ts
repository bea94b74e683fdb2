import { PGlite } from '@electric-sql/pglite'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { begins, spoken } from '../../dist/stores/postgres/transactions/source.js'
import { onPostgres } from '../support/on-postgres.js'
import { connectionsOfTest } from '../support/postgres-schema.js'

/** What is handed in is known by its shape, or refused with a word on what is. */

describe('a shape that is not known', () => {
  const supported = ['Kysely', 'Drizzle', 'Prisma', 'Knex', 'TypeORM', 'PGlite'].map((name) =>
    expect.stringContaining(name),
  )
  const strangers = [undefined, null, 'postgres://', {}, () => undefined, { transaction: () => undefined }]

  test.each(strangers)('opens no transactions: %s', (given) => {
    for (const message of supported)
      expect(() => begins(given)).toThrow(expect.objectContaining({ code: 'store_unknown', message }))
  })

  test.each([...strangers, new pg.Pool(), postgres()])('is not spoken on: %s', (given) => {
    for (const message of supported)
      expect(() => spoken(given)).toThrow(expect.objectContaining({ code: 'store_unknown', message }))
  })

  test('is refused when the store is made, not when the first handler runs', () => {
    const transactions = { transaction: () => undefined }
    expect(() => postgresStore({ pool: new pg.Pool(), transactions })).toThrow(
      expect.objectContaining({ code: 'store_unknown' }),
    )
  })
})

onPostgres('a transaction that somebody opened', (url) => {
  const query = { text: 'SELECT true, $1::bytea, NULL::int', gives: ['yes', 'bytes', 'none'] }
  const row = { yes: 't', bytes: '\\x01', none: null }

  test('by pg is spoken on', async () => {
    const client = await connectionsOfTest(url).connect()
    await client.query('BEGIN')
    expect(await spoken(client).query(query, [Buffer.from([1])])).toEqual([row])
    await client.query('COMMIT')
    client.release()
  })

  test('by postgres.js is spoken on', async () => {
    const sql = postgres(url, { max: 1, fetch_types: false })
    onTestFinished(() => sql.end())
    const rows = await sql.begin(async (tx) => ({ found: await spoken(tx).query(query, [Buffer.from([1])]) }))
    expect(rows.found).toEqual([row])
  })
})

test('a PGlite is refused, because it never syncs, unless nobody asks for that', async () => {
  const pool = await PGlite.create()
  onTestFinished(() => pool.close())
  await migratePostgres({ pool })
  const refusal = { code: 'store_not_durable', message: expect.stringContaining('PGlite never syncs') }
  await expect(postgresStore({ pool }).open()).rejects.toMatchObject(refusal)
  const unchecked = postgresStore({ pool, durability: 'unchecked' })
  await unchecked.open()
  expect(await unchecked.examine()).toContainEqual({
    check: 'disk',
    level: 'warning',
    says: expect.stringContaining('PGlite never syncs'),
  })
}, 60_000)
