import { keyOf, type StoredRecord, scopeOf } from 'hapax'
import { migrateSqlite } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { migrations } from '../../src/stores/sqlite/migrations/index.js'
import { freshPath, integrityOf, openStore } from './sqlite-fixtures/given.js'
import { type Program, program } from './sqlite-fixtures/process.js'

/** Many processes on one file exclude each other, whatever becomes of one of them. */

const keys = Array.from({ length: 1_000 }, (_, index) => `key-${index}`)

test('of four processes that race for a thousand keys, exactly one wins each', async () => {
  const path = await migrated()
  const racers = await atTheLine(path)
  for (const { tell } of racers) tell('go')
  const won = (await Promise.all(racers.map((racer) => results(racer)))).flatMap((result) => result.won)
  expect(won.toSorted()).toEqual(keys.toSorted())
  expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
})

test('a process killed in the midst of the race leaves no key half-written and takes none with it', async () => {
  const path = await migrated()
  const racers = await atTheLine(path)
  for (const { tell } of racers) tell('go')
  const victim = killFirstTo(100)
  const told = await Promise.all(racers.map((racer) => results(racer, victim)))
  expect(
    (await Promise.all(racers.map(({ ended }) => ended))).filter(({ signal }) => signal === 'SIGKILL'),
  ).toHaveLength(1)
  expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])

  const won = told.flatMap((result) => result.won)
  expect(new Set(won).size).toBe(won.length)
  const owners = new Map(told.flatMap(({ name, completed }) => completed.map((key) => [key, name])))
  const store = await openStore({ path })
  for (const key of keys) {
    const record = await store.find({ scope: scopeOf('acme'), key: keyOf(key) })
    if (owners.has(key)) expect(bodyOf(record)).toBe(`${owners.get(key)} ${key}`)
    else expect(['in_progress', 'completed']).toContain(record?.state)
  }
})

test('of four processes that migrate an empty file at once, one does it and the others find it done', async () => {
  const paths = Array.from({ length: 20 }, (_, index) => freshPath(`${index}.db`))
  const migrators = Array.from({ length: 4 }, () => program('migrator.mjs', ...paths))
  await Promise.all(migrators.map(({ next }) => next()))
  for (const { tell } of migrators) tell('go')
  for (const path of paths) {
    const told = await Promise.all(migrators.map(({ next }) => next()))
    const idle = { path, migrations: [] }
    expect(told.toSorted(byApplied)).toEqual([
      idle,
      idle,
      idle,
      { path, migrations: migrations.map(({ name }) => name) },
    ])
  }
})

test('four processes that open a new file at once all start', async () => {
  const paths = Array.from({ length: 10 }, (_, index) => freshPath(`${index}.db`))
  const openers = Array.from({ length: 4 }, () => program('opener.mjs', ...paths))
  await Promise.all(openers.map(({ next }) => next()))
  for (const { tell } of openers) tell('go')
  for (const path of paths) expect(await Promise.all(openers.map(({ next }) => next()))).toEqual(Array(4).fill(path))
})

const byApplied = (a: unknown, b: unknown) => JSON.stringify(a).length - JSON.stringify(b).length

interface Results {
  readonly name: string
  readonly won: string[]
  readonly completed: string[]
}

async function migrated(): Promise<string> {
  const path = freshPath()
  await migrateSqlite({ path })
  return path
}

async function atTheLine(path: string): Promise<readonly Program[]> {
  const racers = ['0', '1', '2', '3'].map((name) => program('racer.mjs', path, name, String(keys.length)))
  await Promise.all(racers.map(async ({ next }) => expect(await next()).toBe('ready')))
  return racers
}

/** Everything a racer says, until it is done, or was killed on purpose. */
async function results(
  { child, next }: Program,
  onCompleted = (_: Results, __: Program['child']) => {},
): Promise<Results> {
  const said: Results = { name: child.spawnargs.at(-2) ?? '', won: [], completed: [] }
  for (;;) {
    const message = (await next().catch(doneWhenKilled)) as { won?: string; completed?: string; done?: true }
    if (message.won !== undefined) said.won.push(message.won)
    if (message.completed !== undefined) said.completed.push(message.completed)
    if (message.done) return said
    onCompleted(said, child)
  }
}

function doneWhenKilled(error: Error): unknown {
  if (error.message.includes('SIGKILL')) return { done: true }
  throw error
}

/** Kills the first racer that has completed so many keys, while it has others under way. */
function killFirstTo(count: number): (said: Results, child: Program['child']) => void {
  let killed = false
  return ({ completed }, child) => {
    if (killed || completed.length < count) return
    killed = child.kill('SIGKILL')
  }
}

function bodyOf(record: StoredRecord | undefined): string | undefined {
  return record?.answer?.kind === 'kept' ? new TextDecoder().decode(record.answer.body) : undefined
}
