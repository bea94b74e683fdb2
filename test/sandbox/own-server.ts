import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, readLines, startDaemon } from '../../scripts/daemon.mjs'
import { createCluster, removeCluster } from '../../scripts/postgres/cluster.mjs'
import { serverBinaries } from '../support/postgres-server.js'
import { atEnd } from './sandbox-process.js'

/** A PostgreSQL that belongs to one test, which may stop it, start it again, and set it up as it likes. */
export interface OwnServer {
  readonly url: string
  start(): Promise<void>
  /** As an operator stops it: running transactions are rolled back, connections are closed. */
  stop(): Promise<void>
}

interface Setup {
  /** As on the command line of the server. */
  readonly settings?: readonly string[]
  /** Lines that go before those which trust everybody. */
  readonly access?: readonly string[]
}

/** It is not running yet. */
export async function ownServer({ settings = [], access = [] }: Setup = {}): Promise<OwnServer> {
  const binaries = await serverBinaries('anywhere')
  if ('missing' in binaries) throw new Error(binaries.missing)
  const { home, data, bin, options } = await createCluster(binaries)
  const trusting = join(data, 'pg_hba.conf')
  writeFileSync(trusting, [...access, ...readLines(trusting)].join('\n'))
  const port = await freePort()
  const flags = settings.flatMap((setting) => ['-c', setting])

  let daemon: ReturnType<typeof startDaemon> | undefined
  const stop = async () => {
    await daemon?.stop()
    daemon = undefined
  }
  atEnd(async () => {
    await stop()
    removeCluster(home)
  })
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async start() {
      daemon = startDaemon({
        command: join(bin, 'postgres'),
        args: ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, ...flags],
        options,
        log: join(home, 'log'),
        stopSignals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
        abandonSignal: 'SIGQUIT',
      })
      await daemon.untilReady(async () => readLines(join(data, 'postmaster.pid'))[7]?.trim() === 'ready')
    },
    stop,
  }
}
