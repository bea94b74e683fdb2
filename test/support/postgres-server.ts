import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort, readLines, startDaemon } from '../../scripts/daemon.mjs'
import { type Cluster, createCluster, removeCluster } from '../../scripts/postgres/cluster.mjs'
import { installedBinaries } from '../../scripts/postgres/installed-binaries.mjs'
import { packagedBinaries } from '../../scripts/postgres/packaged-binaries.mjs'
import { giveTo, reachableTemporaryFolder, serverUser } from '../../scripts/postgres/server-user.mjs'
import type { Binaries, BinarySource } from '../../scripts/postgres.mjs'

/** A PostgreSQL that belongs to one test, which may set it up, stop it and start it again as it likes. */
export interface OwnPostgres {
  readonly url: string
  /** Starts it, anew if it runs, with these settings and no others. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>
  /** As an operator stops it: running transactions are rolled back, connections are closed. */
  stop(): Promise<void>
  /** A real hot standby that follows this server, and runs. */
  standby(): Promise<OwnPostgres>
  /** Stops it, and leaves nothing of it. */
  remove(): Promise<void>
}

/** Where the binaries of a server for one test file come from: wherever there are any, or the registry package alone. */
export type BinariesFrom = 'anywhere' | 'package'

/** The binaries, or why there are none. Looks only, unless the package has to be fetched. */
export async function serverBinaries(from: BinariesFrom): Promise<Binaries | { readonly missing: string }> {
  const isPackaged = from === 'package' || process.env.HAPAX_TEST_POSTGRES === 'package'
  const sources: readonly BinarySource[] = isPackaged ? [packagedBinaries] : [installedBinaries, packagedBinaries]
  const reasons: string[] = []
  for (const source of sources) {
    try {
      return await source(() => undefined)
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { missing: reasons.join('; ') }
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

/** It is not running yet. The lines of `access` go before those of `pg_hba.conf` which trust everybody. */
export async function ownPostgres(binaries: Binaries, access: readonly string[] = []): Promise<OwnPostgres> {
  const cluster = await createCluster(binaries)
  const trusting = join(cluster.data, 'pg_hba.conf')
  writeFileSync(trusting, [...access, ...readLines(trusting)].join('\n'))
  return serverOn(cluster)
}

async function serverOn({ home, data, bin, options }: Cluster): Promise<OwnPostgres> {
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let daemon: ReturnType<typeof startDaemon> | undefined
  const stop = async () => {
    await daemon?.stop()
    daemon = undefined
  }
  return {
    url,
    async start(settings = {}) {
      await stop()
      const chosen = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      daemon = startDaemon({
        command: join(bin, 'postgres'),
        args: ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, ...chosen],
        options,
        log: join(home, 'log'),
        stopSignals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
        abandonSignal: 'SIGQUIT',
      })
      await daemon.untilReady(async () => readLines(join(data, 'postmaster.pid'))[7]?.trim() === 'ready')
    },
    stop,
    async standby() {
      const beside = mkdtempSync(join(reachableTemporaryFolder(), 'hapax-standby-'))
      const user = serverUser()
      if (user !== undefined) giveTo(user, beside)
      const copy = { home: beside, data: join(beside, 'data'), bin, options: { ...options, cwd: beside } }
      const args = ['-D', copy.data, '-d', url, '-R', '-X', 'stream', '--checkpoint=fast', '--no-sync']
      await promisify(execFile)(join(bin, 'pg_basebackup'), args, { ...copy.options, timeout: 15_000 })
      const standby = await serverOn(copy)
      await standby.start()
      return standby
    },
    async remove() {
      await stop()
      removeCluster(home)
    },
  }
}
