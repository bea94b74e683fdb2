import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sqliteStore } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { settingsFrom } from '../../examples/sandbox/src/settings.js'
import { refusal } from './expectations.js'
import { pay } from './payment-client.js'
import { emptyDirectory, refusedStart, startSandbox } from './sandbox-process.js'
import { onEachDatabase } from './test-database.js'

test.concurrent('it says where it serves, on which database, and that nobody is charged, in a line each and nothing else, and creates its directory', async () => {
  const dataDir = join(await emptyDirectory(), 'some', 'where')
  const sandbox = await startSandbox({ dataDir })
  expect((await pay(sandbox)).status).toBe(201)
  expect(sandbox.printed.stdout).toBe(`ready ${sandbox.url}\n`)
  expect(sandbox.printed.stderr).toBe(
    `database: SQLite, ${join(dataDir, 'hapax.db')}\nproviders: none, so that payments are recorded and nobody is charged\n`,
  )
  expect(new URL(sandbox.url).hostname).toBe('127.0.0.1')
})

onEachDatabase((fresh) => {
  test.concurrent('its data survives a restart, and a retry gets the same bytes', async () => {
    const database = await fresh()
    const first = await database.start()
    const created = await pay(first, { key: 'k' })
    expect(await first.stop('SIGTERM')).toBe(0)
    const second = await database.start()
    const again = await pay(second, { key: 'k' })
    expect([again.status, again.headers.get('idempotent-replayed'), again.text]).toEqual([201, 'true', created.text])
  })
})

test.concurrent('a setting that makes no sense is refused by its name', async () => {
  expect(await refusedStart({ PORT: 'abc' })).toEqual(refusal('PORT is "abc"; give a whole number from 0 to 65535'))
  for (const [name, values] of Object.entries({
    PORT: ['65536', '-1', '80.5', '1e3', ' '],
    SANDBOX_DELAY_MS: ['60001', '1s'],
    SANDBOX_LEASE_SECONDS: ['0', '301'],
    SANDBOX_KEYS: ['UUID', 'strict', 'true'],
    SANDBOX_KEY_OWNER: ['token'],
    SANDBOX_FIRST_SENT: ['1'],
    SANDBOX_PAYMENTS_PROFILE: ['stripe'],
    SANDBOX_BANK_COMPARES: ['signature'],
    SANDBOX_NOTIFICATION_KEYS: ['memory'],
    SANDBOX_SHARED_REPLAYS: ['on'],
  })) {
    for (const value of values) expect(() => settingsFrom({ [name]: value })).toThrow(`${name} is "${value}"; give`)
  }
  expect(await refusedStart({ SANDBOX_KEYS: 'UUID' })).toEqual(
    refusal('SANDBOX_KEYS is "UUID"; give any or unguessable or uuid'),
  )
})

test.concurrent('what is not set, or set to nothing, has its default', () => {
  const defaults = {
    port: 3000,
    host: '127.0.0.1',
    database: { kind: 'sqlite', dataDir: '.hapax' },
    delayMs: 0,
    lease: '30s',
    quotas: { newKeysPerSecond: 1_000, activeKeys: 1_000_000 },
    keys: 'any',
    keyOwner: 'tenant',
    firstSent: 'ignored',
    paymentsProfile: 'ietf',
    bankCompares: 'fields',
    replayCache: { maxAge: '5s' },
    redis: { url: undefined, notificationKeys: 'database', sharedReplays: 'off' },
    providersUrl: undefined,
    webhookSecrets: {
      airtm: 'whsec_c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA==',
      trustlessWork: 'whsec_sandbox_trustless_work',
    },
  }
  expect(settingsFrom({})).toEqual(defaults)
  expect(settingsFrom({ PORT: '', HOST: '', HAPAX_DATA_DIR: '', DATABASE_URL: '' })).toEqual(defaults)
})

test.concurrent('who keeps something in Redis has to say where that is, and that it is there', async () => {
  for (const uses of [{ SANDBOX_NOTIFICATION_KEYS: 'redis' }, { SANDBOX_SHARED_REPLAYS: 'redis' }]) {
    expect(() => settingsFrom(uses)).toThrow('REDIS_URL is not given; give redis://')
    expect(() => settingsFrom({ ...uses, REDIS_URL: 'http://secret@here' })).toThrow(
      'REDIS_URL is no such address; give',
    )
  }
  const gone = { SANDBOX_NOTIFICATION_KEYS: 'redis', REDIS_URL: 'redis://127.0.0.1:1' }
  expect(await refusedStart(gone)).toEqual(refusal('REDIS_URL leads there'))
})

test.concurrent('a port that is taken is refused, and the answer is named', async () => {
  const { url } = await startSandbox()
  expect(await refusedStart({ PORT: new URL(url).port })).toEqual(refusal('EADDRINUSE.* free port in PORT'))
})

test.concurrent('a host that is not ours is refused', async () => {
  expect(await refusedStart({ HOST: '192.0.2.1' })).toEqual(refusal('EADDRNOTAVAIL.* HOST'))
})

test.concurrent('a data directory that cannot be created is refused', async () => {
  const file = join(await emptyDirectory(), 'file')
  await writeFile(file, '')
  expect(await refusedStart({ HAPAX_DATA_DIR: join(file, 'data') })).toEqual(refusal('ENOTDIR.* HAPAX_DATA_DIR'))
})

test.concurrent('a database that is garbage, or a directory, is refused', async () => {
  const garbage = await emptyDirectory()
  await writeFile(join(garbage, 'hapax.db'), 'this is no database, and long enough to be read as one'.repeat(100))
  expect(await refusedStart({ HAPAX_DATA_DIR: garbage })).toEqual(refusal('not a SQLite database'))
  const directory = await emptyDirectory()
  await mkdir(join(directory, 'hapax.db'))
  expect(await refusedStart({ HAPAX_DATA_DIR: directory })).toEqual(refusal('is a directory'))
})

test.concurrent('a database of a newer release is refused and left as it was', async () => {
  const dataDir = await emptyDirectory()
  const store = sqliteStore({ path: join(dataDir, 'hapax.db') })
  await store.open()
  await store.query({ sql: `insert into hapax_schema (version, name, applied_at) values (999, 'from-the-future', 0)` })
  await store.close()
  expect(await refusedStart({ HAPAX_DATA_DIR: dataDir })).toEqual(refusal('has schema 999, this release knows'))
})
