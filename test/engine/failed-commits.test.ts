import { engine, type Work } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { afterEach, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function bench() {
  const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
  closing.push(hapax.close)
  const policy = hapax.policy({ name: 'payments.create' })
  return (handler: (work: Work<SqliteTransaction>) => Promise<unknown>) =>
    hapax.run({ scope: 'acme', key: 'k', input: {}, policy }, handler)
}

const failing = (work: Work<SqliteTransaction>) =>
  work.commit(async () => {
    throw new Error('insert failed')
  })

test('a commit that nobody waits for and that fails fails the run', async () => {
  const run = bench()
  const first = run(async (work) => {
    void failing(work)
    await new Promise((resolve) => setTimeout(resolve, 20))
    return { paid: true }
  })
  await expect(first).rejects.toThrow('insert failed')
  expect(await run(async () => ({ paid: 'by the retry' }))).toMatchObject({ replayed: false })
})

test('so does one whose handler catches the error: what it answers for rows that are not there is no answer', async () => {
  const run = bench()
  const first = run(async (work) => {
    await failing(work).catch(() => {})
    return { paid: true }
  })
  await expect(first).rejects.toThrow('insert failed')
  expect(await run(async () => ({ paid: 'by the retry' }))).toMatchObject({ replayed: false })
})

test('one that is still under way when the handler returns is waited for', async () => {
  const run = bench()
  let isCommitted = false
  const first = run(async (work) => {
    const commit = work.commit(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return { paid: true }
    })
    void commit.then(() => {
      isCommitted = true
    })
    return { paid: 'too early' }
  })
  expect(await first).toMatchObject({ value: { paid: true } })
  expect(isCommitted).toBe(true)
})

test('one that could not begin is no failure: a handler may do without, where a store has no transactions', async () => {
  const said: string[] = []
  const hapax = engine({ store: memoryStore(), log: ({ code }) => said.push(code) })
  closing.push(hapax.close)
  const policy = hapax.policy({ name: 'payments.create' })
  const done = await hapax.run({ scope: 'acme', key: 'k', input: {}, policy }, async (work) => {
    const without = { paid: 'without rows' }
    return work.commit(async () => ({ paid: 'with rows' })).catch(() => without)
  })
  expect(done).toMatchObject({ value: { paid: 'without rows' } })
  expect(said).toEqual(['commit_not_begun'])
})

test('one that failed is made up for by one that did not', async () => {
  const said: string[] = []
  const hapax = engine({ store: sqliteStore({ path: freshPath() }), log: ({ code }) => said.push(code) })
  closing.push(hapax.close)
  const policy = hapax.policy({ name: 'payments.create' })
  const done = await hapax.run({ scope: 'acme', key: 'k', input: {}, policy }, (work) =>
    failing(work).catch(() => work.commit(async () => ({ paid: 'at last' }))),
  )
  expect(done).toMatchObject({ value: { paid: 'at last' } })
  expect(said).toEqual([])
})

test('of two that are begun at once the second is refused, and the first stands', async () => {
  const run = bench()
  let refusal: unknown
  const done = await run(async (work) => {
    const first = work.commit(async () => ({ paid: 'first' }))
    await work
      .commit(async () => ({ paid: 'second' }))
      .catch((error: unknown) => {
        refusal = error
      })
    return first
  })
  expect(refusal).toMatchObject({ code: 'already_answered' })
  expect(done).toMatchObject({ value: { paid: 'first' } })
})

test('one that is begun because another failed is waited for too', async () => {
  const run = bench()
  const done = await run(async (work) => {
    void failing(work).catch(() => work.commit(async () => ({ paid: 'at last' })))
    return { paid: 'too early' }
  })
  expect(done).toMatchObject({ value: { paid: 'at last' } })
})
