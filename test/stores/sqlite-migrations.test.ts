import { existsSync } from 'node:fs'
import { migrateSqlite, type SqliteStoreOptions, sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../src/stores/sqlite/migrations/index.js'
import { rejection } from '../support/waiting.js'
import { reservation } from './given.js'
import { freshPath, looking, openStore } from './sqlite-fixtures/given.js'

const names = migrations.map(({ name }) => name)

/** A store starts on the schema of its release, or says what to run. */

const oldFile = 'CREATE TABLE customers (id INTEGER PRIMARY KEY)'

test('a new file gets its schema when it is opened', async () => {
  const store = await openStore()
  expect((await store.reserve(reservation('k'))).kind).toBe('reserved')
})

test('an empty file that already exists is a new file', async () => {
  const path = freshPath()
  looking(path, (database) => database.exec('PRAGMA user_version = 1'))
  await expect(openStore({ path })).resolves.toBeDefined()
})

test('a file with other tables and without ours is left alone, and the error says what to run', async () => {
  const path = freshPath()
  looking(path, (database) => database.exec(oldFile))
  const error = await rejection(opened({ path }))
  expect(error).toMatchObject({
    code: 'store_schema_outdated',
    message: expect.stringContaining(`npx hapax migrate ${path}`),
  })
  expect(tablesIn(path)).toEqual(['customers'])
  await migrateSqlite({ path })
  await opened({ path })
})

test('with migrate: on-open any outdated file is brought up to date', async () => {
  const path = freshPath()
  looking(path, (database) => database.exec(oldFile))
  await opened({ path, migrate: 'on-open' })
  expect(tablesIn(path)).toEqual(expect.arrayContaining(['customers', 'hapax_records', 'hapax_schema']))
})

test('with migrate: never a missing file is not even created', async () => {
  const path = freshPath()
  const error = await rejection(opened({ path, migrate: 'never' }))
  expect(error).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringContaining(`npx hapax migrate ${path}`),
  })
  expect(existsSync(path)).toBe(false)
})

test.each(['new-file', 'on-open', 'never'] as const)(
  'with migrate: %s a schema of a later release refuses to start',
  async (migrate) => {
    const path = freshPath()
    await migrateSqlite({ path })
    looking(path, (database) => database.exec("INSERT INTO hapax_schema VALUES (999, '0999-later', 0)"))
    const error = await rejection(opened({ path, migrate }))
    expect(error).toMatchObject({ code: 'store_schema_newer', message: expect.stringContaining('schema 999') })
  },
)

test('a later release is not migrated back either', async () => {
  const path = freshPath()
  await migrateSqlite({ path })
  looking(path, (database) => database.exec("INSERT INTO hapax_schema VALUES (999, '0999-later', 0)"))
  expect(await rejection(migrateSqlite({ path }))).toMatchObject({ code: 'store_schema_newer' })
})

test('migrating twice changes nothing the second time', async () => {
  const path = freshPath()
  expect(await migrateSqlite({ path })).toEqual({
    path,
    from: 0,
    to: names.length,
    migrations: names,
  })
  expect(await migrateSqlite({ path })).toEqual({ path, from: names.length, to: names.length, migrations: [] })
})

test('a preview says what would be applied and creates nothing', async () => {
  const path = freshPath()
  const preview = {
    path,
    from: 0,
    to: names.length,
    migrations: names,
  }
  expect(await migrateSqlite({ path, mode: 'preview' })).toEqual(preview)
  expect(existsSync(path)).toBe(false)
  looking(path, (database) => database.exec(oldFile))
  expect(await migrateSqlite({ path, mode: 'preview' })).toEqual(preview)
  expect(tablesIn(path)).toEqual(['customers'])
})

test('a migration that fails leaves the file as it was', async () => {
  const path = freshPath()
  looking(path, (database) => database.exec('CREATE TABLE hapax_clock (in_the_way)'))
  expect(await rejection(migrateSqlite({ path }))).toMatchObject({ code: 'store_failed' })
  expect(tablesIn(path)).toEqual(['hapax_clock'])
})

async function opened(options: SqliteStoreOptions): Promise<void> {
  const store = sqliteStore(options)
  onTestFinished(() => store.close())
  await store.open()
}

function tablesIn(path: string): unknown[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
  return looking(path, (database) => database.prepare(sql).all([])).map((row) => (row as { name: string }).name)
}
