import { type Engine, type EngineOptions, engine } from 'hapax'
import type pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { whileBlocked } from '../support/blocked-records.js'
import { onPostgres } from '../support/on-postgres.js'
import { connectionsOfTest, schemaOfTest } from '../support/postgres-schema.js'

/** Recent answers are given again while PostgreSQL is blocked, however they were made. */
onPostgres('the replay cache in front of PostgreSQL', (url) => {
  async function given(options: Partial<EngineOptions<pg.PoolClient>> = {}) {
    const { node, owner, schema } = await schemaOfTest(url)
    const hapaxOf = () => {
      const made = engine({ store: node({ statementTimeout: '500ms' }).store, storeTimeout: '500ms', ...options })
      onTestFinished(() => made.close())
      return made
    }
    const blocked = <T>(body: () => Promise<T>) => whileBlocked(owner, schema, body)
    return { hapax: hapaxOf(), another: hapaxOf, whileBlocked: blocked }
  }

  type Hapax = Engine<pg.PoolClient>
  const request = { scope: 'acme', key: 'k', input: { amount: 1 } }
  const ways = {
    'by a plain handler': (hapax: Hapax) =>
      hapax.run({ ...request, policy: hapax.policy({ name: 'payments.create' }) }, async () => ({ id: 'pay_1' })),
    'by work.commit': (hapax: Hapax) =>
      hapax.run({ ...request, policy: hapax.policy({ name: 'payments.create' }) }, (work) =>
        work.commit(async () => ({ id: 'pay_1' })),
      ),
    'as one transaction': (hapax: Hapax) =>
      hapax.run({ ...request, policy: hapax.policy({ name: 'payments.create', mode: 'transaction' }) }, async () => ({
        id: 'pay_1',
      })),
  }

  describe.each(Object.entries(ways))('an answer that was made %s', (_, run) => {
    test('is given again by the node that made it', async () => {
      const { hapax, whileBlocked } = await given()
      const first = await run(hapax)
      expect(await whileBlocked(() => run(hapax))).toEqual({ ...first, replayed: true })
    })

    test('is given again by another node that has read it', async () => {
      const { hapax, another, whileBlocked } = await given()
      const first = await run(hapax)
      const other = another()
      expect(await run(other)).toEqual({ ...first, replayed: true })
      expect(await whileBlocked(() => run(other))).toEqual({ ...first, replayed: true })
    })

    test('has to be read where nobody has yet, or where the cache is off', async () => {
      const { hapax, another, whileBlocked } = await given()
      await run(hapax)
      const other = another()
      const unread = { code: expect.stringMatching(/^(idempotency_store_unavailable|store_failed|store_busy)$/) }
      await whileBlocked(() => expect(run(other)).rejects.toMatchObject(unread))
      const { hapax: without, whileBlocked: blocked } = await given({ replayCache: 'off' })
      await run(without)
      await blocked(() => expect(run(without)).rejects.toMatchObject(unread))
    })
  })

  test('what joined a transaction of the caller is not given again before that commits, nor if it never does', async () => {
    const { hapax } = await given()
    const policy = hapax.policy({ name: 'payments.create', mode: 'transaction' })
    const client = await connectionsOfTest(url).connect()
    onTestFinished(() => client.release())
    const run = (joins?: pg.PoolClient) =>
      hapax.run({ ...request, policy, joins }, async () => (joins ? 'undone' : 'done'))
    await client.query('BEGIN')
    expect(await run(client)).toMatchObject({ value: 'undone', replayed: false })
    await expect(run()).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
    await client.query('ROLLBACK')
    expect(await run()).toMatchObject({ value: 'done', replayed: false })
  })
})
