import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settingsFrom } from '../../examples/sandbox/src/settings.js'
import { onPostgres } from '../support/on-postgres.js'
import { refusal } from './expectations.js'
import { ownServer } from './own-server.js'
import { pay } from './payment-client.js'
import { onServer, postgresTestDatabase, select } from './postgres-test-database.js'
import { atEnd, refusedStart, startSandbox } from './sandbox-process.js'

test.concurrent('DATABASE_URL of another kind is refused, and nothing of it is shown', async () => {
  const refused = await refusedStart({ DATABASE_URL: 'mysql://me:hunter2@127.0.0.1/shop' })
  expect(refused).toEqual(refusal('the scheme "mysql:"; give postgres://.* leave it out for SQLite'))
  expect(refused.stderr).not.toMatch(/hunter2|shop/)
  expect(() => settingsFrom({ DATABASE_URL: 'hunter2' })).toThrow(/^DATABASE_URL is no URL; give postgres:/)
  for (const url of ['postgres://a/b', 'postgresql://a/b', 'POSTGRES://a/b'])
    expect(settingsFrom({ DATABASE_URL: url }).database).toEqual({ kind: 'postgres', url })
})

test.concurrent('DATABASE_URL that cannot be read is refused, and its password is not shown', async () => {
  const refused = await refusedStart({ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:port/shop' })
  expect(refused).toEqual(refusal('DATABASE_URL cannot be read .*percent-encoded'))
  expect(refused.stderr).not.toContain('hunter2')
})

test.concurrent('a server that is not there, or that says nothing, is refused within seconds', async () => {
  const startedAt = performance.now()
  const [nobody, silent] = await Promise.all([
    refusedStart({ DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/shop' }),
    refusedStart({ DATABASE_URL: `postgres://me:hunter2@127.0.0.1:${await silentPort()}/shop` }),
  ])
  expect(nobody).toEqual(
    refusal('Check host and port.*ECONNREFUSED.*DATABASE_URL leads to .*shop on 127.0.0.1:1 as me'),
  )
  expect(silent).toEqual(refusal('timeout.*DATABASE_URL leads to .*shop on 127.0.0.1:'))
  expect(nobody.stderr + silent.stderr).not.toContain('hunter2')
  expect(performance.now() - startedAt).toBeLessThan(15_000)
})

onPostgres('starting on PostgreSQL', () => {
  test.concurrent('it says where it serves and on which database, and needs no directory', async () => {
    const { name, url } = await postgresTestDatabase()
    const withPassword = new URL(url)
    withPassword.password = 'hunter2'
    const sandbox = await startSandbox({ env: { DATABASE_URL: withPassword.href } })
    expect((await pay(sandbox)).status).toBe(201)
    const { host, username } = withPassword
    expect(sandbox.printed).toEqual({
      stdout: `ready ${sandbox.url}\n`,
      stderr: `database: PostgreSQL, ${name} on ${host} as ${username}\nproviders: none, so that payments are recorded and nobody is charged\n`,
    })
    expect(existsSync(join(sandbox.dataDir, 'hapax.db'))).toBe(false)
  })

  test.concurrent('a database that does not exist is refused by its name', async () => {
    const { url } = await postgresTestDatabase()
    const refused = await refusedStart({ DATABASE_URL: `${url}_not` })
    expect(refused).toEqual(refusal('Check role, password and database.*_not" does not exist'))
  })

  test.concurrent('a database that is read-only, or may forget what it said, is refused', async () => {
    for (const [setting, reason] of [
      ['default_transaction_read_only = on', 'Connect to the primary'],
      ['synchronous_commit = off', 'forgets'],
    ] as const) {
      const { name, url } = await postgresTestDatabase()
      await onServer(`ALTER DATABASE ${name} SET ${setting}`)
      expect(await refusedStart({ DATABASE_URL: url })).toEqual(refusal(reason))
    }
  })

  test.concurrent('a schema of a newer release is refused and left as it was', async () => {
    const database = await postgresTestDatabase()
    await (await database.start()).stop('SIGTERM')
    await select(database.url, `INSERT INTO hapax.migrations (version, name) VALUES (999, 'from-the-future')`)
    expect(await refusedStart({ DATABASE_URL: database.url })).toEqual(refusal('is at version 999, this release knows'))
  })

  test.concurrent('a wrong password, and a server that does not write to its disk, are refused', async () => {
    const access = ['host all locked 127.0.0.1/32 scram-sha-256']
    const server = await ownServer(access)
    await server.start({ fsync: 'off' })
    await select(server.url, `CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'right'`)
    const [wrong, right] = ['hunter2', 'right'].map((password) => {
      const url = new URL(server.url)
      Object.assign(url, { username: 'locked', password })
      return url.href
    }) as [string, string]
    const refused = await refusedStart({ DATABASE_URL: wrong })
    expect(refused).toEqual(refusal('Check role, password and database.*authentication failed'))
    expect(refused.stderr).not.toContain('hunter2')
    expect(await refusedStart({ DATABASE_URL: right })).toEqual(refusal('fsync is off'))
  })
})

/** Takes connections and answers nothing. */
function silentPort(): Promise<number> {
  const listener = createServer((socket) => void socket.on('error', () => undefined))
  atEnd(async () => void listener.close())
  return new Promise((resolve) => {
    listener.listen(0, '127.0.0.1', () => {
      const address = listener.address()
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
    })
  })
}
