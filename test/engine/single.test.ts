import {
  effects as definitions,
  type Engine,
  type EngineOptions,
  engine,
  isHapaxError,
  keyOf,
  type Store,
  scopeOf,
  type Work,
} from 'hapax'
import { memoryStore } from 'hapax/memory'
import type { SqliteTransaction } from 'hapax/sqlite'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { openStore } from '../stores/sqlite-fixtures/given.js'
import { onPostgres } from '../support/on-postgres.js'
import { connectionsOfTest, ridesIn, schemaOfTest } from '../support/postgres-schema.js'
import { bounded, ended, gate, rejection } from '../support/waiting.js'
import { insertRide, workBench } from '../support/work-bench.js'

/** A database with two nodes on it, and how the application writes a row. */
interface Ground<Tx> {
  node(options?: Partial<EngineOptions<Tx>>): Engine<Tx>
  insert(tx: Tx, name: string): Promise<unknown>
  names(): Promise<readonly unknown[]>
  /** As another connection sees it. */
  readonly outside: Store<Tx>
}

const request = { scope: 'acme', key: 'k', input: { who: 'ann' } }
const effects = definitions({ 'receipt.send': { call: () => ({ sent: true }) } })

async function onSqlite(): Promise<Ground<SqliteTransaction>> {
  const { path, store, node, rides } = await workBench()
  const outside = await openStore({ path })
  return { node: (options) => node({ store, ...options }), insert: insertRide, names: rides, outside }
}

async function onServer(url: string): Promise<Ground<pg.PoolClient>> {
  const schema = await schemaOfTest(url)
  const { table, names } = await ridesIn(schema)
  const { store } = schema.node()
  const outside = schema.node().store
  await store.open()
  await outside.open()
  return {
    node: (options = {}) => engine({ store, log: () => {}, ...options }),
    insert: (tx, name) => tx.query(`INSERT INTO ${table} (name) VALUES ($1)`, [name]),
    names,
    outside,
  }
}

function promises<Tx>(ground: () => Promise<Ground<Tx>>): void {
  async function bench(options: Partial<EngineOptions<Tx>> = {}) {
    const { node, insert, names, outside } = await ground()
    const hapax = node(options)
    const policy = hapax.policy({ name: 'rides.create', mode: 'transaction' })
    const record = () => outside.find({ scope: scopeOf('acme'), key: keyOf('k') })
    const run = (handler: (work: Work<Tx>) => Promise<unknown>) => hapax.run({ ...request, policy }, handler)
    const reply = (status: number, name = 'ann') => {
      const operation = hapax.operation(`rides.${status}`, { version: 1, mode: 'transaction' }, (work) =>
        work.commit(async ({ tx }) => {
          ran++
          await insert(tx, name)
          return { status, body: { name } }
        }),
      )
      let ran = 0
      const perform = () => hapax.perform({ ...request, operation })
      return { perform, ran: () => ran }
    }
    return { hapax, policy, node, insert, names, outside, record, run, reply }
  }

  test('rows and answer are there together, and every retry gets the answer', async () => {
    const { run, insert, names, record } = await bench()
    const handler = (work: Work<Tx>) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'ann')
        return { ride: 'ann' }
      })
    expect(await run(handler)).toMatchObject({ value: { ride: 'ann' }, replayed: false, generation: 1 })
    expect(await run(handler)).toMatchObject({ value: { ride: 'ann' }, replayed: true })
    expect(await names()).toEqual(['ann'])
    expect(await record()).toMatchObject({ state: 'completed', attempt: 1 })
  })

  test('nobody else sees the key in progress while the handler runs', async () => {
    const { run, insert, record } = await bench()
    const seen: unknown[] = []
    await run((work) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'ann')
        seen.push(await record())
        return 'done'
      }),
    )
    expect(seen).toEqual([undefined])
  })

  test('a handler that throws leaves nothing, and the retry simply runs', async () => {
    const { run, insert, names, record } = await bench()
    const failing = run((work) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'never')
        throw new Error('out of luck')
      }),
    )
    await expect(failing).rejects.toThrow('out of luck')
    expect(await record()).toBeUndefined()
    expect(await names()).toEqual([])
    expect(await run(async () => 'second')).toMatchObject({ value: 'second', replayed: false, generation: 1 })
  })

  test('one that throws after its commit leaves nothing either, nor one that catches what its commit threw', async () => {
    const { run, insert, names, record } = await bench()
    const later = run(async (work) => {
      await work.commit(({ tx }) => insert(tx, 'never'))
      throw new Error('afterwards')
    })
    await expect(later).rejects.toThrow('afterwards')
    const caught = run(async (work) => {
      const commit = work.commit(async ({ tx }) => {
        await insert(tx, 'never')
        throw new Error('inside')
      })
      await commit.catch(() => {})
      return 'as if'
    })
    await expect(caught).rejects.toThrow('inside')
    expect(await record()).toBeUndefined()
    expect(await names()).toEqual([])
  })

  test('a 4xx undoes the rows, and is stored and replayed', async () => {
    const { reply, names, record } = await bench()
    const { perform, ran } = reply(402)
    expect(await perform()).toMatchObject({ replayed: false })
    expect(await names()).toEqual([])
    expect(await record()).toMatchObject({ state: 'completed', answer: { status: 402 } })
    expect(await perform()).toMatchObject({ replayed: true })
    expect(ran()).toBe(1)
  })

  test.each([500, 503, 429])('a %i leaves nothing, and the next request runs', async (status) => {
    const { reply, names, record } = await bench()
    const { perform, ran } = reply(status)
    await ended(perform())
    expect(await record()).toBeUndefined()
    expect(await names()).toEqual([])
    await ended(perform())
    expect(ran()).toBe(2)
  })

  test('a duplicate at the same time never runs a second time', async () => {
    const { hapax, policy, node, insert, names } = await bench()
    const other = node()
    const inside = gate()
    const goOn = gate()
    let runs = 0
    const handler = (work: Work<Tx>) =>
      work.commit(async ({ tx }) => {
        runs++
        inside.open()
        await goOn.opened
        await insert(tx, 'ann')
        return 'done'
      })
    const first = hapax.run({ ...request, policy }, handler)
    await bounded(inside.opened, 'the first')
    const same = other.policy({ name: 'rides.create', mode: 'transaction' })
    const second = ended(other.run({ ...request, policy: same }, handler))
    // It is refused while the first runs, or waits for it.
    await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 200))])
    goOn.open()
    expect(await first).toMatchObject({ value: 'done' })
    const answer = await second
    if (answer.kind === 'answered') expect(answer.answer).toMatchObject({ value: 'done', replayed: true })
    else expect(answer.error).toMatchObject({ code: expect.stringMatching(/idempotency_key_in_progress|store_busy/) })
    expect(runs).toBe(1)
    expect(await names()).toEqual(['ann'])
  })

  test('another request under the same key is refused, and one that a claim holds is in progress', async () => {
    const { hapax, policy, run, record } = await bench()
    await run(async () => 'done')
    const other = { ...request, input: { who: 'bob' } }
    expect(await codeOf(hapax.run({ ...other, policy }, async () => 'no'))).toBe(
      'idempotency_key_reused_with_different_payload',
    )
    const inside = gate()
    const goOn = gate()
    const claiming = hapax.policy({ name: 'rides.create' })
    const held = hapax.run({ ...request, key: 'held', policy: claiming }, async () => {
      inside.open()
      await goOn.opened
      return 'by a claim'
    })
    await inside.opened
    expect(await codeOf(hapax.run({ ...request, key: 'held', policy }, async () => 'no'))).toBe(
      'idempotency_key_in_progress',
    )
    goOn.open()
    await held
    expect(await hapax.run({ ...request, key: 'held', policy }, async () => 'no')).toMatchObject({
      value: 'by a claim',
    })
    expect((await record())?.state).toBe('completed')
  })

  test('phases, calls, doubts and another retention have no place in it, and are refused by name', async () => {
    const { run } = await bench()
    const said: string[] = []
    let sent = 0
    await run(async (work) => {
      const attempts = [
        () => work.transaction('a', async () => 1),
        () => work.call('b', { run: () => ++sent }),
        () => work.extend('30d'),
        async () => work.doubt('c'),
      ]
      for (const attempt of attempts) {
        const error = await rejection(attempt())
        said.push(isHapaxError(error, 'phase_unsupported') ? (error.message.split(' ')[0] ?? '') : String(error))
      }
      return 'done'
    })
    expect(said).toEqual(['work.transaction', 'work.call', 'work.extend', 'work.doubt'])
    expect(sent).toBe(0)
  })

  test('effects commit with it, and are undone with it', async () => {
    const { run, reply, outside, hapax } = await bench({ effects })
    const count = async () => (await outside.effects?.list({ limit: 10 }))?.effects.length
    await ended(
      run((work) =>
        work.commit(async ({ effect }) => {
          effect('receipt.send', { to: 'ann' })
          throw new Error('no')
        }),
      ),
    )
    expect(await count()).toBe(0)
    const told: unknown[] = []
    hapax.on('effects_written', ({ count }) => told.push(count))
    await run((work) =>
      work.commit(async ({ effect }) => {
        effect('receipt.send', { to: 'ann' })
        return 'done'
      }),
    )
    expect(await count()).toBe(1)
    expect(told).toEqual([1])
    expect(reply).toBeDefined()
  })

  test('that an answer became durable is told when it is, and not when it will be', async () => {
    const { run, hapax, record } = await bench()
    const told: unknown[] = []
    hapax.on('completed', async () => told.push((await record())?.state))
    await run(async (work) => {
      expect(told).toEqual([])
      return work.commit(async () => 'done')
    })
    await expect.poll(() => told).toEqual(['completed'])
  })
}

describe('a request as one transaction, on SQLite', () => {
  promises(onSqlite)

  test('cannot join a transaction that was opened elsewhere', async () => {
    const { node } = await onSqlite()
    const hapax = node()
    const policy = hapax.policy({ name: 'rides.create', mode: 'transaction' })
    const joins = { query: async () => ({ rows: [] }) }
    expect(await codeOf(hapax.run({ ...request, policy, joins }, async () => 1))).toBe('transaction_unsupported')
  })
})

onPostgres('a request as one transaction, on PostgreSQL', (url) => {
  promises(() => onServer(url))

  async function joined() {
    const ground = await onServer(url)
    const hapax = ground.node()
    const policy = hapax.policy({ name: 'rides.create', mode: 'transaction' })
    const client = await connectionsOfTest(url).connect()
    const run = (joins?: pg.PoolClient) =>
      hapax.run({ ...request, policy, ...(joins && { joins }) }, (work) =>
        work.commit(async ({ tx }) => {
          await ground.insert(tx, joins === undefined ? 'alone' : 'joined')
          return { by: joins === undefined ? 'alone' : 'joined' }
        }),
      )
    return { ...ground, client, run }
  }

  test('joins a transaction of the caller: with its ROLLBACK nothing ever happened', async () => {
    const { client, run, names } = await joined()
    await client.query('BEGIN')
    expect(await run(client)).toMatchObject({ value: { by: 'joined' }, replayed: false })
    expect(await names()).toEqual([])
    await client.query('ROLLBACK')
    client.release()
    expect(await run()).toMatchObject({ value: { by: 'alone' }, replayed: false })
    expect(await names()).toEqual(['alone'])
  })

  test('and with its COMMIT the retry gets the answer', async () => {
    const { client, run, names } = await joined()
    await client.query('BEGIN')
    await run(client)
    await client.query('COMMIT')
    client.release()
    expect(await run()).toMatchObject({ value: { by: 'joined' }, replayed: true })
    expect(await names()).toEqual(['joined'])
  })

  test('a handler that outlives maxRun writes nothing into the transaction of the caller, who may go on', async () => {
    const ground = await onServer(url)
    const hapax = ground.node()
    const policy = hapax.policy({ name: 'rides.create', mode: 'transaction', maxRun: '200ms', lease: '100ms' })
    const client = await connectionsOfTest(url).connect()
    const late = gate()
    let wrote: Promise<unknown> = Promise.resolve()
    await client.query('BEGIN')
    const run = hapax.run({ ...request, policy, joins: client }, (work) =>
      work.commit(async ({ tx }) => {
        await ground.insert(tx, 'in time')
        await late.opened
        wrote = ground.insert(tx, 'too late')
        return wrote
      }),
    )
    expect(await codeOf(run)).toBe('transaction_timeout')
    late.open()
    await expect.poll(() => codeOf(wrote)).toBe('transaction_ended')
    await ground.insert(client as never, 'of the caller')
    await client.query('COMMIT')
    client.release()
    expect(await ground.names()).toEqual(['of the caller'])
  })

  test('a duplicate meanwhile is refused, and the transaction of the caller stays whole', async () => {
    const { client, run, names } = await joined()
    await client.query('BEGIN')
    await run(client)
    expect(await codeOf(run())).toBe('idempotency_key_in_progress')
    await client.query('COMMIT')
    client.release()
    expect(await names()).toEqual(['joined'])
  })
})

describe('what contradicts the mode is refused at start', () => {
  const hapax = engine({ store: memoryStore() })

  test.each([
    ['onCrash', { onCrash: 'retry' }],
    ['onError', { onError: 'unknown' }],
  ] as const)('%s', (option, options) => {
    expect(() => hapax.policy({ name: 'x', mode: 'transaction', ...options })).toThrow(
      new RegExp(`Leave ${option} out`),
    )
  })

  test('a mode that nobody knows', () => {
    expect(() => hapax.policy({ name: 'x', mode: 'saga' as never })).toThrow(/choose claim, transaction/)
  })

  test('a transaction to join without it', async () => {
    const policy = hapax.policy({ name: 'x' })
    expect(await codeOf(hapax.run({ ...request, policy, joins: {} }, async () => 1))).toBe('policy_invalid')
  })

  test('a store that cannot', async () => {
    const policy = hapax.policy({ name: 'x', mode: 'transaction' })
    expect(await codeOf(hapax.run({ ...request, policy }, async () => 1))).toBe('transaction_unsupported')
  })
})

async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await rejection(promise)
  return isHapaxError(error) ? error.code : error
}
