import { engine, keyOf } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { completion, reservation } from '../../dist/conformance/given.js'
import { pgLibrary } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { ended } from '../support/waiting.js'
import { postgresBench } from './postgres-fixtures/bench.js'
import { name } from './postgres-fixtures/operations.js'

/** Statements that travel together on a connection of pg. */
onPostgres('in one go', (url) => {
  const bench = postgresBench(url)
  const answered = { value: 7, rows: 'keep', completion: completion() } as const

  test('a request as one transaction is two round trips besides its own', async () => {
    const { store, wire, ride } = await bench.node(pgLibrary)
    const { single } = store as Required<typeof store>
    await single(reservation(name), async ({ tx }) => {
      await ride(tx, 'one')
      return answered
    })
    expect(wire.statements.map(({ word }) => word)).toEqual(['BEGIN', 'INSERT', 'COMMIT'])
    expect(await bench.rides()).toEqual(['one'])
    expect(await bench.outside.find(name)).toMatchObject({ state: 'completed' })
  })

  test('a record that travels with COMMIT is as one that was reserved and completed', async () => {
    const { store, ride } = await bench.node(pgLibrary)
    const { single } = store as Required<typeof store>
    const { answer, answerVersion } = completion()
    const said = { answer: { ...answer, headers: [['x-long', '€ and 🂡 '.repeat(10_000)]] as const }, answerVersion }
    await single(reservation(name), async ({ tx }) => {
      await ride(tx, 'one')
      return { ...answered, completion: said }
    })
    const other = { ...name, key: keyOf('another') }
    const verdict = await bench.outside.reserve(reservation(other))
    if (verdict.kind === 'reserved') await bench.outside.complete(verdict.claim, said)
    const [written, usual] = await Promise.all([bench.outside.find(name), bench.outside.find(other)])
    const known = { id: expect.any(Number), key: name.key, claimId: expect.any(String) }
    const times = { createdAt: expect.any(Number), lastRunAt: written?.createdAt, completedAt: expect.any(Number) }
    const { completedAt = 0, retentionMs = 0 } = written ?? {}
    expect(written).toEqual({ ...usual, ...known, ...times, expiresAt: completedAt + retentionMs })
  })

  test('one that fails keeps those behind it from happening, and the connection is good for the next', async () => {
    const { store, wire, ride } = await bench.node(pgLibrary)
    const { single } = store as Required<typeof store>
    const taken = single(reservation(name), async ({ tx }) => {
      await ride(tx, 'in vain')
      await bench.outside.reserve(reservation(name))
      return answered
    })
    expect(await ended(taken)).toMatchObject({ kind: 'threw', error: { code: 'claim_lost' } })
    expect(await bench.rides()).toEqual([])

    await single(reservation({ ...name, key: keyOf('another') }), async ({ tx }) => {
      await ride(tx, 'one')
      return answered
    })
    expect(await bench.rides()).toEqual(['one'])
    expect(wire.clients).toBe(1)
  })

  test.each([
    { how: 'that sends ahead by itself', config: { pipeline: true } },
    { how: 'that waits for each answer', config: {} },
  ])('a client $how keeps the same promises', async ({ config }) => {
    const pool = new pg.Pool({ connectionString: url, max: 4, ...config })
    onTestFinished(() => pool.end())
    const hapax = engine({ store: postgresStore({ pool, schema: bench.schema, connection: 'direct' }) })
    await hapax.open()
    onTestFinished(() => hapax.close())
    const policy = hapax.policy({ name: 'rides.take', mode: 'transaction' })
    const run = async (key: string) => {
      const outcome = await hapax.run({ scope: 'acme', key, policy }, (work) =>
        work.commit(async ({ tx }) => {
          const { rows } = await tx.query(`INSERT INTO ${bench.schema}.rides VALUES ($1) RETURNING name`, [key])
          return rows[0].name as string
        }),
      )
      return outcome.kind === 'done' ? `${outcome.replayed ? 'again ' : ''}${outcome.value}` : outcome.kind
    }
    const keys = Array.from({ length: 20 }, (_, number) => `k${number}`)
    expect(await Promise.all(keys.map(run))).toEqual(keys)
    expect(await Promise.all(keys.map(run))).toEqual(keys.map((key) => `again ${key}`))
    expect((await bench.rides()).toSorted()).toEqual(keys.toSorted())
  })
})
