import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../src/stores/sqlite/migrations/index.js'

/** The command as a person runs it. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const { bin, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const names = migrations.map(({ name }) => name)

/** Of each of them. */
function said(what: string): string {
  return names.map((name) => `${what} ${name}\n`).join('')
}

test('hapax migrate creates the file, and the second time finds it up to date', async () => {
  const { path, hapax } = given()
  expect(hapax('migrate', path)).toEqual({
    code: 0,
    stdout: said('applied'),
    stderr: '',
  })
  expect(hapax('migrate', path)).toEqual({
    code: 0,
    stdout: `already up to date at version ${names.length}\n`,
    stderr: '',
  })
  const store = sqliteStore({ path, migrate: 'never' })
  await store.open()
  await store.close()
})

test('a dry run says what would be applied and changes nothing', () => {
  const { path, hapax } = given()
  expect(hapax('migrate', path, '--dry-run')).toEqual({
    code: 0,
    stdout: said('would apply'),
    stderr: '',
  })
  expect(existsSync(path)).toBe(false)
})

test('with --json a script reads one object', () => {
  const { path, hapax } = given()
  const { code, stdout } = hapax('migrate', path, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    database: path,
    from: 0,
    to: names.length,
    dryRun: false,
    migrations: names,
  })
})

test('a database may be named by a path or a URL', () => {
  const { path, hapax } = given()
  expect(hapax('migrate', `sqlite:${path}`).stdout).toBe(said('applied'))
  for (const name of [
    path,
    'hapax.db',
    'sqlite:hapax.db',
    `sqlite://${path}`,
    `file:${path}`,
    'file:hapax.db',
    pathToFileURL(path).href,
  ]) {
    expect(hapax('migrate', name)).toEqual({
      code: 0,
      stdout: `already up to date at version ${names.length}\n`,
      stderr: '',
    })
  }
})

test.each([
  [
    'mysql://localhost/hapax',
    /^hapax: No store is known by the scheme "mysql:". Give postgres:.* \(store_unknown\)\n$/,
  ],
  ['file://elsewhere/hapax.db', /^hapax: .* does not lead to a file on this machine. .* \(store_unknown\)\n$/],
  [':memory:', /^hapax: .* is not the path of a file. .* \(store_unknown\)\n$/],
])('%s is no database that this release knows: exit 2', (database, message) => {
  const { code, stdout, stderr } = given().hapax('migrate', database)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(message)
})

test('what fails says so in one line with its code: exit 1', () => {
  const { path, hapax } = given()
  writeFileSync(path, 'This file is a letter, not a database. '.repeat(50))
  const letter = hapax('migrate', path)
  expect(letter).toMatchObject({ code: 1, stdout: '' })
  expect(letter.stderr).toMatch(/^hapax: The file is not a SQLite database\. .* \(store_unreachable\)\n$/)
  expect(hapax('migrate', join(path, 'deeper.db')).stderr).toMatch(/^hapax: .*\(store_unreachable\)\n$/)
})

test.each([[['migrate']], [['migrate', 'a.db', 'b.db']], [['migrate', 'a.db', '--force']], [['migrat', 'a.db']]])(
  'wrong usage says so in one line: exit 2 for %j',
  (args) => {
    const { code, stdout, stderr } = given().hapax(...args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/^hapax: .*see hapax --help\n$/s)
  },
)

test('the help shows examples and exit codes, and the version is that of the package', () => {
  const { hapax } = given()
  expect(hapax('--help')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Exit codes: 0 done, 1 failed, 2 wrong usage/),
  })
  expect(hapax('migrate', '--help')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('hapax migrate .data/hapax.db --dry-run'),
  })
  expect(hapax('--version')).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  expect(hapax()).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: hapax') })
})

/** A directory of its own, in which the command runs. */
function given() {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const hapax = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, bin.hapax), ...args], {
      cwd: directory,
      encoding: 'utf8',
    })
    return { code: status, stdout, stderr }
  }
  return { path: join(directory, 'hapax.db'), hapax }
}
