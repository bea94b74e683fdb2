import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, type Engine, engine, HapaxError, keyOf, type PolicyOptions, scopeOf } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cutSqlite } from '../../dist/stores/sqlite/testing.js'

let directory: string
let store: SqliteStore
let hapax: Engine<SqliteTransaction>

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hapax-commit-'))
  store = sqliteStore({ path: join(directory, 'hapax.db') })
  hapax = engine({ store, log: () => {} })
  await hapax.open()
  await store.query({ sql: 'create table orders (id text primary key)' })
})
afterEach(async () => {
  await hapax.close()
  await rm(directory, { recursive: true })
})

const request = (options: Partial<PolicyOptions> = {}) => ({
  scope: 'acme',
  key: 'k-1',
  policy: hapax.policy({ name: 'orders.create', ...options, concurrency: 'wait' }),
})
const insert = (tx: SqliteTransaction, id: string) =>
  tx.run({ sql: 'insert into orders (id) values (?)', parameters: [id] })
const orders = async () => (await store.query({ sql: 'select id from orders order by id' })).rows.map(({ id }) => id)
const record = () => store.find({ scope: scopeOf('acme'), key: keyOf('k-1') })

describe('work.commit', () => {
  test('makes the rows and the answer durable together, once', async () => {
    const order = () =>
      hapax.run(request(), (work) =>
        work.commit(async ({ tx }) => {
          await insert(tx, 'ord_1')
          return { id: 'ord_1' }
        }),
      )
    const first = await order()
    const retry = await order()
    expect(first).toMatchObject({ value: { id: 'ord_1' }, replayed: false })
    expect(retry).toMatchObject({ value: { id: 'ord_1' }, replayed: true })
    expect(retry.expiresAt).toEqual(first.expiresAt)
    expect(first.expiresAt).toBeInstanceOf(Date)
    expect(await orders()).toEqual(['ord_1'])
  })

  test('whose body throws leaves no row, and the retry runs', async () => {
    const failing = hapax.run(request(), (work) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'ord_1')
        throw new Error('no stock')
      }),
    )
    await expect(failing).rejects.toThrow('no stock')
    expect(await orders()).toEqual([])
    expect((await record())?.state).toBe('failed_retryable')
  })

  test('whose result cannot be written as JSON leaves no row', async () => {
    const failing = hapax.run(request(), (work) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'ord_1')
        return 10n
      }),
    )
    await expect(failing).rejects.toMatchObject({ code: 'input_not_json' })
    expect(await orders()).toEqual([])
  })

  test('of a claim that was lost rolls its rows back, and its caller gets the answer of the other', async () => {
    const slow = hapax.run(request({ lease: '100ms', onCrash: 'retry' }), async (work) => {
      const held = await record()
      if (held === undefined) throw new Error('not reserved')
      await store.fail(held, { errorCode: 'taken' })
      const anotherProcess = engine({ store, log: () => {} })
      await anotherProcess.run(request({ onCrash: 'retry' }), (other) =>
        other.commit(async ({ tx }) => {
          await insert(tx, 'by the other')
          return 'by the other'
        }),
      )
      return work.commit(async ({ tx }) => {
        await insert(tx, 'by the first')
        return 'by the first'
      })
    })
    expect(await slow).toMatchObject({ value: 'by the other', replayed: true })
    expect(await orders()).toEqual(['by the other'])
  })

  test('is the one answer: a second one is refused, and what the handler does after it changes nothing', async () => {
    const twice = await hapax.run(request(), async (work) => {
      await work.commit(async ({ tx }) => {
        await insert(tx, 'ord_1')
        return 'first'
      })
      const second = await work.commit(async () => 'second').catch((error: { code: string }) => error.code)
      throw new Error(`second: ${second}`)
    })
    expect(twice).toMatchObject({ value: 'first' })
    expect(await orders()).toEqual(['ord_1'])
  })

  test('is refused while a doubt is open', async () => {
    const doubting = hapax.run(request(), (work) => {
      work.doubt('the gateway timed out')
      return work.commit(async ({ tx }) => insert(tx, 'ord_1'))
    })
    await expect(doubting).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(await orders()).toEqual([])
    expect((await record())?.state).toBe('unknown')
  })

  test('whose reply was lost is still the one answer, whatever the handler says instead', async () => {
    const losesReplies: SqliteStore = {
      ...store,
      transaction: async (claim, body) => {
        await store.transaction(claim, body)
        throw new HapaxError('store_failed', 'the reply was lost')
      },
    }
    const unlucky = engine({ store: losesReplies, log: () => {} })
    const first = await unlucky.run(request(), (work) =>
      work.commit(async () => 'committed').catch(() => 'something else'),
    )
    expect(first).toMatchObject({ value: 'committed', replayed: false })
    expect(await hapax.run(request(), async () => 'again')).toMatchObject({ value: 'committed', replayed: true })
  })

  test('rolls back when a doubt is raised inside, and takes none once it is durable', async () => {
    const inside = hapax.run(request(), (work) =>
      work.commit(async ({ tx }) => {
        await insert(tx, 'ord_1')
        work.doubt('gateway_timeout')
        return 'ordered'
      }),
    )
    await expect(inside).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(await orders()).toEqual([])
    const after = await hapax.run({ ...request(), key: 'k-2' }, async (work) => {
      await work.commit(async () => 'ordered')
      work.doubt('too late')
    })
    expect(after).toMatchObject({ value: 'ordered' })
  })

  test('of an answer that is not for good rolls back, and its caller still gets that answer', async () => {
    const body = new TextEncoder().encode('try later')
    const outcome = await hapax.execute({
      scope: scopeOf('acme'),
      key: keyOf('k-1'),
      policy: request().policy,
      source: { subject: ['POST', '/orders'], mediaType: undefined, body },
      handler: (work) =>
        work.commit(async ({ tx }) => {
          await insert(tx, 'ord_1')
          return { status: 503, headers: [], body }
        }),
      toAnswer: (value) => value as Answer,
      errorToAnswer: () => ({ status: 500, headers: [], body }),
    })
    expect(outcome).toMatchObject({ kind: 'answered', stored: false, answer: { status: 503 } })
    expect(await orders()).toEqual([])
    expect((await record())?.state).toBe('failed_retryable')
  })

  test('that was turned away does not hide what the handler does next', async () => {
    const body = new Uint8Array()
    const policy = hapax.policy({
      name: 'orders.create',
      onError: (failure) => (failure instanceof RangeError ? 'unknown' : 'retry'),
    })
    const outcome = await hapax.execute({
      scope: scopeOf('acme'),
      key: keyOf('k-1'),
      policy,
      source: { subject: ['POST', '/orders'], mediaType: undefined, body },
      handler: async (work) => {
        await work.commit(async () => ({ status: 503, headers: [], body })).catch(() => 'turned away')
        throw new RangeError('the other provider timed out')
      },
      toAnswer: (value) => value as Answer,
      errorToAnswer: () => ({ status: 500, headers: [], body }),
    })
    expect(outcome).toMatchObject({ kind: 'refused', error: { code: 'outcome_unknown' } })
  })

  test('that was cut off around COMMIT leaves row and answer or neither, and the retry ends with exactly one', async () => {
    const order = () =>
      hapax.run(request({ onCrash: 'retry', lease: '1s' }), (work) =>
        work.commit(async ({ tx }) => {
          await insert(tx, 'ord_1')
          if (work.attempt === 1) queueMicrotask(() => cutSqlite(store))
          return 'ordered'
        }),
      )
    await order().catch(() => 'cut off')
    expect(await order()).toMatchObject({ value: 'ordered' })
    expect(await orders()).toEqual(['ord_1'])
  })

  test('needs a store with transactions', async () => {
    const forgetful = engine({ store: memoryStore(), log: () => {} })
    const policy = forgetful.policy({ name: 'orders.create' })
    const committing = forgetful.run({ scope: 'acme', key: 'k', policy }, (work) => work.commit(async () => 1))
    await expect(committing).rejects.toMatchObject({ code: 'transaction_unsupported' })
  })
})
