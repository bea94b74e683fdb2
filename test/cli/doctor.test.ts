import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migrations } from '../../src/stores/postgres/migrations/index.js'
import { onPostgres, serverUrl } from '../support/on-postgres.js'
import { asRole, freshName } from '../support/postgres-schema.js'
import { ownPostgres, standbyBinaries } from '../support/postgres-server.js'

/** The commands for PostgreSQL, and the doctor, as a person runs them. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')
const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const names = migrations.map(({ name }) => name)

const binaries = serverUrl === undefined ? { missing: 'no PostgreSQL' } : await standbyBinaries(serverUrl)

test('hapax doctor finds nothing broken in a file that hapax migrate made: exit 0', () => {
  const directory = temporary()
  expect(hapax(['migrate', 'a.db'], directory).code).toBe(0)
  const { code, stdout } = hapax(['doctor', 'a.db'], directory)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^a\.db\n\ncheck {4}verdict {2}what was found/)
  expect(stdout).toMatch(/\nFit to serve: 0 broken, 0 warnings, 4 ok\.\n$/)
})

test.each([
  ['that is not there', () => undefined, /file +broken .*does not exist/],
  [
    'that is a letter',
    (path: string) => writeFileSync(path, 'Dear Sir, '.repeat(500)),
    /file +broken .*not a SQLite database/,
  ],
  ['that is empty', (path: string) => writeFileSync(path, ''), /schema +broken .*schema 0/],
  ['that is damaged', damaged, /damage +broken .*damaged/],
])('hapax doctor says what is broken in a file %s: exit 1', (_what, make, says) => {
  const directory = temporary()
  make(join(directory, 'a.db'), directory)
  const { code, stdout } = hapax(['doctor', 'a.db'], directory)
  expect(code).toBe(1)
  expect(stdout).toMatch(says)
  expect(stdout).toMatch(/\nNot fit to serve: 1 broken/)
})

test.each([
  [['doctor']],
  [['doctor', 'a.db', '--schema', 'x']],
  [['doctor', 'a.db', '--row-security']],
  [['migrate', 'a.db', '--schema', 'x']],
  [['rights']],
  [['rights', '']],
  [['rights', 'serving', '--schema', 'no name']],
])('wrong usage says so in one line: exit 2 for %j', (args) => {
  const { code, stdout, stderr } = hapax(args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^hapax: [^\n]+\n$/)
})

test.each([
  'postgres://a:12/geheim@h/x',
  'postgres://a:ge#heim@h/x',
  'postgres://a:geheim@h:99999/x',
  'postgres:geheim',
])('a URL that is none is never printed, since it may hold a password: %s', (url) => {
  const { code, stdout, stderr } = hapax(['migrate', url, '--json'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).not.toContain('heim')
  expect(stderr).toMatch(/^hapax: This is no URL .* percent sign.* \(store_unknown\)\n$/)
})

test('a server that nobody answers at is one line, or one row of the table: exit 1', () => {
  const url = 'postgres://a:geheim@127.0.0.1:1/x'
  const migrated = hapax(['migrate', url])
  expect(migrated).toMatchObject({ code: 1, stdout: '' })
  expect(migrated.stderr).toMatch(/^hapax: No server answers there\. .* \(store_unreachable\)\n$/)
  const examined = hapax(['doctor', url, '--json'])
  expect(examined.code).toBe(1)
  expect(JSON.parse(examined.stdout)).toMatchObject({
    database: 'postgres://a@127.0.0.1:1/x',
    broken: 1,
    findings: [{ check: 'server', level: 'broken', code: 'store_unreachable' }],
  })
  expect(migrated.stderr + examined.stdout + examined.stderr).not.toContain('geheim')
})

test('a server that takes the connection and says nothing is given up within a bound', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as AddressInfo
  const child = spawn(process.execPath, [main, 'doctor', `postgres://a:geheim@127.0.0.1:${port}/x`], {
    timeout: 15_000,
  })
  const said = await new Promise<{ code: number | null; text: string }>((resolve) => {
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
    })
    child.once('close', (code) => resolve({ code, text }))
  })
  expect(said.code).toBe(1)
  // The driver and the store give up at the same moment: either may be the one that says so.
  expect(said.text).toMatch(/server +broken .*(No server answers there|No connection could be made)/)
})

test('without a driver the command says what to install: exit 1', () => {
  expect(hapax(['migrate', 'postgres://a@127.0.0.1:1/x'], temporary(), installedWith([]))).toEqual({
    code: 1,
    stdout: '',
    stderr: 'hapax: No driver for PostgreSQL is installed. Run: npm install pg (or postgres) (store_unreachable)\n',
  })
})

test.each(['host=127.0.0.1 password=geheim', 'password = geheim dbname=app'])(
  'words for psql are neither taken for a file nor printed: %s',
  (words) => {
    for (const command of ['migrate', 'doctor']) {
      const { code, stdout, stderr } = hapax([command, words], temporary())
      expect(code).toBe(2)
      expect(stderr).toContain('Words like host=… are not read here. Give postgres://')
      expect(stdout + stderr).not.toContain('geheim')
    }
  },
)

onPostgres('on a server', (url) => {
  test.each([
    ['pg', ['pg']],
    ['postgres', ['postgres']],
  ])('with the driver %s: migrate, rights and doctor lead to a role that serves', async (_name, drivers) => {
    const { owner, schema, role } = await given()
    const command = drivers[0] === 'pg' ? main : installedWith(drivers)
    const run = (...args: string[]) => hapax([...args, '--schema', schema], temporary(), command)
    expect(run('migrate', url, '--dry-run').stdout).toBe(names.map((name) => `would apply ${name}\n`).join(''))
    const secret = new URL(url)
    secret.password = 'geheim'
    const { stdout } = run('migrate', secret.href, '--json')
    expect(JSON.parse(stdout)).toMatchObject({
      schema,
      from: 0,
      dryRun: false,
      migrations: names,
    })
    expect(stdout).not.toContain('geheim')
    expect(run('migrate', url).stdout).toBe(`already up to date at version ${names.length}\n`)

    const serving = asRole(url, role)
    const before = run('doctor', serving)
    expect(before.code).toBe(1)
    expect(before.stdout).toMatch(/rights +broken +\S+\s+lacks\s+USAGE\s+ON\s+SCHEMA/)

    const rights = run('rights', role)
    expect(rights.stdout).toMatch(
      /^-- Run this with the role that owns the schema[^\n]+\nBEGIN;\n(GRANT [^;]+;\n)+COMMIT;\n$/,
    )
    await owner.query(rights.stdout)
    const after = run('doctor', serving)
    expect(after).toMatchObject({ code: 0, stderr: '' })
    expect(after.stdout).toMatch(/\nFit to serve: 0 broken, \d warnings?, \d+ ok\.\n$/)
    expect(
      Math.max(
        ...after.stdout
          .split('\n')
          .slice(1)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(80)

    await owner.query(run('rights', role, '--row-security').stdout)
    expect(run('doctor', serving)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/row security +broken/),
    })
    expect(run('doctor', serving, '--row-security').code).toBe(0)
  })

  test('a database that is not there is one line: exit 1', () => {
    const other = new URL(url)
    other.pathname = freshName()
    const { code, stderr } = hapax(['migrate', other.href])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^hapax: PostgreSQL refused the login\. [^\n]+does not exist\) \(store_unreachable\)\n$/)
  })

  const reason = 'missing' in binaries ? ` (skipped: ${binaries.missing})` : ''
  test.skipIf('missing' in binaries)(
    `a wrong password is one line that does not hold it: exit 1${reason}`,
    async () => {
      if ('missing' in binaries) return
      const server = await ownPostgres(binaries, ['host all locked 127.0.0.1/32 scram-sha-256'])
      onTestFinished(() => server.remove())
      await server.start()
      const admin = new pg.Client(server.url)
      await admin.connect()
      await admin.query(`CREATE ROLE locked LOGIN PASSWORD 'right'`)
      await admin.end()
      const { code, stderr } = hapax(['migrate', server.url.replace('postgres@', 'locked:geheim@')])
      expect(code).toBe(1)
      expect(stderr).toMatch(/^hapax: PostgreSQL refused the login\. [^\n]+ \(store_unreachable\)\n$/)
      expect(stderr).not.toContain('geheim')
      expect(hapax(['migrate', server.url.replace('postgres@', 'locked:right@'), '--dry-run']).code).toBe(0)
    },
  )

  async function given() {
    const schema = freshName()
    const role = `${schema}_serving`
    const owner = new pg.Pool({ connectionString: url, max: 1 })
    await owner.query(`CREATE ROLE ${role} LOGIN`)
    onTestFinished(async () => {
      await owner.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await owner.query(`DROP ROLE ${role}`)
      await owner.end()
    })
    return { owner, schema, role }
  }
})

function hapax(args: readonly string[], cwd = temporary(), command = main) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...args], {
    cwd,
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { code: status, stdout, stderr }
}

function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}

/** The command, installed where there are no other drivers than these. */
function installedWith(drivers: readonly string[]): string {
  const modules = join(temporary(), 'node_modules')
  mkdirSync(join(modules, 'hapax'), { recursive: true })
  cpSync(join(root, 'dist'), join(modules, 'hapax', 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(modules, 'hapax', 'package.json'))
  for (const name of [...Object.keys(dependencies), ...drivers])
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  return join(modules, 'hapax', 'dist', 'cli', 'main.js')
}

/** A page of the file that belongs to a table or an index is overwritten. */
function damaged(path: string, directory: string): void {
  hapax(['migrate', path], directory)
  const bytes = readFileSync(path)
  bytes.fill(0xff, 4096 * 3, 4096 * 5)
  writeFileSync(path, bytes)
}
