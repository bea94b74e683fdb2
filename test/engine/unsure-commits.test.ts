import { engine, HapaxError, type Store, type Work } from 'hapax'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'

type TestStore = Store<SqliteTransaction>

/** A guarded operation whose failures are answers, on a store that tells nobody what became of its commits. */
function bench(unheard: (inner: ReturnType<typeof sqliteStore>) => Partial<TestStore>) {
  const inner = sqliteStore({ path: freshPath() })
  onTestFinished(() => inner.close())
  const store: TestStore = { ...inner, ...unheard(inner) }
  const hapax = engine<SqliteTransaction>({ store })
  const policy = hapax.policy({ name: 'payments.create', onError: 'store' })
  return (handler: (work: Work<SqliteTransaction>) => Promise<unknown>) =>
    hapax.run({ scope: 'acme', key: 'k', input: {}, policy }, handler)
}

const lost = () => new HapaxError('store_failed', 'the connection was cut, and nobody could look')

/** Says in words of its own that its commit has failed, which by the policy is an answer. */
const wording = (work: Work<SqliteTransaction>) =>
  work
    .commit(async () => ({ paid: true }))
    .catch(() => {
      throw new Error('it could not be written down')
    })

test('a commit that stands is the answer, also where its handler was told that it failed and what it threw would be stored', async () => {
  const run = bench((inner) => ({
    async transaction(claim, body) {
      await inner.transaction(claim, body)
      throw lost()
    },
  }))
  expect(await run(wording)).toMatchObject({ value: { paid: true }, replayed: false })
  expect(await run(wording)).toMatchObject({ value: { paid: true }, replayed: true })
})

test('so is one that lands just before what was thrown is stored', async () => {
  const run = bench((inner) => {
    let lands = async (): Promise<unknown> => undefined
    return {
      async transaction(claim, body) {
        const step = await body(undefined as never)
        lands = () => inner.transaction(claim, async () => step)
        throw lost()
      },
      async complete(claim, completion) {
        await lands()
        return inner.complete(claim, completion)
      },
    }
  })
  expect(await run(wording)).toMatchObject({ value: { paid: true }, replayed: false })
  expect(await run(wording)).toMatchObject({ value: { paid: true }, replayed: true })
})
