/** One PostgreSQL server of our own, on a free port of the loopback, that leaves nothing behind. */
import { join } from 'node:path'
import { freePort, readLines, startDaemon } from '../daemon.mjs'
import { createCluster, removeCluster } from './cluster.mjs'

/**
 * @param {import('../postgres.mjs').Binaries} binaries
 * @returns {Promise<import('../postgres.mjs').Running>}
 */
export async function startServer(binaries) {
  const cluster = await createCluster(binaries)
  const port = await freePort()
  const server = launch(cluster, port)
  const stop = async () => {
    await server.stop()
    removeCluster(cluster.home)
  }
  try {
    await server.untilReady(() => isReady(cluster.data))
  } catch (error) {
    await stop()
    throw error
  }
  return { kind: 'running', url: `postgres://postgres@127.0.0.1:${port}/postgres`, source: binaries.source, stop }
}

/**
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {number} port
 */
function launch({ home, data, bin, options }, port) {
  const settings = ['fsync=on', 'max_connections=200'].flatMap((setting) => ['-c', setting])
  return startDaemon({
    command: join(bin, 'postgres'),
    args: ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, ...settings],
    options,
    log: join(home, 'log'),
    // A fast shutdown, or else an immediate one, or else none.
    stopSignals: ['SIGINT', 'SIGQUIT', 'SIGKILL'],
    abandonSignal: 'SIGQUIT',
  })
}

/**
 * The server writes into its lock file when it takes connections; `pg_ctl` looks there too.
 *
 * @param {string} data
 */
async function isReady(data) {
  return readLines(join(data, 'postmaster.pid'))[7]?.trim() === 'ready'
}
