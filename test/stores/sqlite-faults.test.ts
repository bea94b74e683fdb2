import { chmodSync, cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keyOf, scopeOf } from 'hapax'
import { migrateSqlite, sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { rejection } from '../support/waiting.js'
import { claimed, reservation } from './given.js'
import { freshPath, integrityOf, openStore } from './sqlite-fixtures/given.js'
import { program } from './sqlite-fixtures/process.js'

/** Whatever is wrong with the file has a name, says what to do, and leaves nothing half-written. */

test('a directory that does not exist is named', async () => {
  const path = join(freshPath(), 'deeper', 'hapax.db')
  const error = await rejection(opening(path))
  expect(error).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringContaining(`${dirname(path)} does not exist`),
  })
})

test('a directory in the place of the file is named', async () => {
  const path = freshPath()
  mkdirSync(path)
  expect(await rejection(opening(path))).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringContaining('is a directory'),
  })
})

test('a file that is no database is named, and not a byte of it is changed', async () => {
  const path = freshPath()
  writeFileSync(path, 'Dear diary, today I was no database. '.repeat(50))
  expect(await rejection(opening(path))).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringContaining('not a SQLite database'),
  })
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test.each([':memory:', '', 'libsql://db.example', 'http://127.0.0.1:8080', 'file:hapax.db'])(
  '%j is not the path of a file',
  (path) => {
    expect(() => sqliteStore({ path })).toThrow(expect.objectContaining({ code: 'store_unknown' }))
  },
)

test.each([
  ['read but not written', 0o444],
  ['neither read nor written', 0o000],
])('a file that may be %s is named', async (_, mode) => {
  const path = freshPath()
  await migrateSqlite({ path })
  chmodSync(path, mode)
  chmodSync(dirname(path), 0o777)
  const outsider = program('outsider.mjs', path)
  expect(await outsider.next()).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringMatching(/this user/i),
  })
})

test('a database that becomes read-only while serving is named, and serves again when it is mended', async () => {
  const store = await openStore()
  await store.query({ sql: 'PRAGMA query_only = ON' })
  expect(await rejection(store.reserve(reservation('k')))).toMatchObject({ code: 'store_unreachable' })
  await store.query({ sql: 'PRAGMA query_only = OFF' })
  expect((await store.reserve(reservation('k'))).kind).toBe('reserved')
})

test('a full disk refuses a completion whole, and the record stays as it was', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  const claim = await claimed(store, 'k')
  const before = await store.find(claim)
  const { rows } = await store.query({ sql: 'PRAGMA page_count' })
  await store.query({ sql: `PRAGMA max_page_count = ${rows[0]?.page_count}` })
  const large = completion('x'.repeat(500_000))
  expect(await rejection(store.complete(claim, large))).toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining('disk is full'),
    cause: { code: 'SQLITE_FULL' },
  })
  expect(await store.find(claim)).toEqual(before)
  await store.query({ sql: 'PRAGMA max_page_count = 1000000' })
  expect(await store.complete(claim, large)).toBeTruthy()
  await store.close()
  expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
})

test('a file that is taken away while serving is noticed, and nothing is written into the void', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  const claim = await claimed(store, 'before')
  for (const part of ['', '-wal', '-shm']) renameSync(`${path}${part}`, `${path}.away${part}`)
  for (let attempt = 0; attempt < 3; attempt++) {
    expect(await rejection(store.reserve(reservation('lost')))).toMatchObject({ code: 'store_unreachable' })
  }
  expect(existsSync(path)).toBe(false)
  for (const part of ['', '-wal', '-shm']) renameSync(`${path}.away${part}`, `${path}${part}`)
  expect((await store.find(claim))?.state).toBe('in_progress')
  expect(await store.find({ scope: scopeOf('acme'), key: keyOf('lost') })).toBeUndefined()
})

test('a database whose directory appears later is opened then', async () => {
  const path = join(freshPath(), 'hapax.db')
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  expect(await rejection(store.reserve(reservation('k')))).toMatchObject({ code: 'store_unreachable' })
  mkdirSync(dirname(path))
  expect((await store.reserve(reservation('k'))).kind).toBe('reserved')
})

test('without the package libsql the error says what to install', async () => {
  const home = dirname(freshPath())
  const installed = join(home, 'node_modules', 'hapax')
  const root = fileURLToPath(new URL('../..', import.meta.url))
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
  for (const name of ['structured-headers', 'commander'])
    symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
  const script = join(home, 'outsider.mjs')
  cpSync(fileURLToPath(new URL('sqlite-fixtures/outsider.mjs', import.meta.url)), script)
  const without = program(script, join(home, 'hapax.db'), 'same-user')
  expect(await without.next()).toMatchObject({
    code: 'store_unreachable',
    message: expect.stringContaining('npm install libsql'),
  })
  rmSync(home, { recursive: true })
})

async function opening(path: string): Promise<void> {
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  await store.open()
}
