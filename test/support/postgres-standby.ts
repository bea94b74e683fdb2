import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { createCluster } from '../../scripts/postgres/cluster.mjs'
import { giveTo, reachableTemporaryFolder, serverUser } from '../../scripts/postgres/server-user.mjs'
import type { Binaries } from '../../scripts/postgres.mjs'
import { until } from './postgres-schema.js'

/** A server whose settings a test may choose, and from which standbys can be made. */
export interface PrivatePostgres {
  readonly url: string
  readonly data: string
  /** Starts anew with other settings, on the same data and port. */
  restart(settings: Readonly<Record<string, string>>): Promise<void>
  /** A real hot standby that follows this server. */
  standby(): Promise<PrivatePostgres>
  stop(): Promise<void>
}

/** The binaries beside those of the running server, or why they cannot make a standby: packages ship no `pg_basebackup`. */
export async function standbyBinaries(url: string): Promise<Binaries | { readonly missing: string }> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  try {
    await client.connect()
    const { rows } = await client.query(`SELECT setting FROM pg_config WHERE name = 'BINDIR'`)
    const folder: string = rows[0].setting
    const lacking = ['postgres', 'initdb', 'pg_basebackup'].find((name) => !existsSync(join(folder, name)))
    if (lacking !== undefined) return { missing: `no ${lacking} beside the server's own binaries` }
    return { folder, source: folder, reach: 'shared' }
  } catch (error) {
    return { missing: `nobody says where the server's binaries are, ${String(error)}` }
  } finally {
    await client.end()
  }
}

export async function privatePostgres(
  binaries: Binaries,
  settings: Readonly<Record<string, string>> = {},
): Promise<PrivatePostgres> {
  return running(await createCluster(binaries), settings)
}

type Place = Awaited<ReturnType<typeof createCluster>>

async function running(place: Place, settings: Readonly<Record<string, string>>): Promise<PrivatePostgres> {
  const { home, data, bin, options } = place
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server = await launched(place, port, url, settings)
  return {
    url,
    data,
    async restart(others) {
      await ended(server)
      server = await launched(place, port, url, others)
    },
    async standby() {
      const beside = mkdtempSync(join(reachableTemporaryFolder(), 'hapax-standby-'))
      const user = serverUser()
      if (user !== undefined) giveTo(user, beside)
      const copy = join(beside, 'data')
      const args = ['-D', copy, '-d', url, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync']
      await promisify(execFile)(join(bin, 'pg_basebackup'), args, { ...options, cwd: beside, timeout: 15_000 })
      return running({ home: beside, data: copy, bin, options: { ...options, cwd: beside } }, {})
    },
    async stop() {
      await ended(server)
      rmSync(home, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

async function launched(
  { home, data, bin, options }: Place,
  port: number,
  url: string,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const log = openSync(join(home, 'log'), 'a')
  const chosen = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, ...chosen]
  const server = spawn(join(bin, 'postgres'), args, { ...options, stdio: ['ignore', log, log] })
  const abandon = () => server.kill('SIGQUIT')
  process.once('exit', abandon)
  server.once('exit', () => process.off('exit', abandon))
  await until(
    () => answers(url),
    (does) => does || server.exitCode !== null,
  )
  if (server.exitCode !== null) throw new Error('The server did not start.')
  return server
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 })
  client.on('error', () => undefined)
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  )
}

/** A fast shutdown, or else none. */
async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGINT')
  const late = setTimeout(() => server.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(late)
}

function freePort(): Promise<number> {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
