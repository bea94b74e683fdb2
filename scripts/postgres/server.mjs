/** One PostgreSQL server of our own, on a free port of the loopback, that leaves nothing behind. */
import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { kill } from '../processes.mjs'
import { createCluster, removeCluster } from './cluster.mjs'

const readyWithinMs = 30_000
const stopsWithinMs = 10_000
const pollMs = 20

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
    await waitUntilReady(cluster, server)
  } catch (error) {
    await stop()
    throw error
  }
  return { kind: 'running', url: `postgres://postgres@127.0.0.1:${port}/postgres`, source: binaries.source, stop }
}

/** @returns {Promise<number>} */
function freePort() {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}

/**
 * In a process group of its own: a Ctrl-C is for the tests, and the server stops when they have ended.
 *
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {number} port
 */
function launch({ home, data, bin, options }, port) {
  const log = openSync(join(home, 'log'), 'a')
  const settings = ['fsync=on', 'max_connections=200'].flatMap((setting) => ['-c', setting])
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, ...settings]
  const child = spawn(join(bin, 'postgres'), args, { ...options, detached: true, stdio: ['ignore', log, log] })
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  /** @param {NodeJS.Signals} signal */
  const send = (signal) => child.pid !== undefined && kill(child.pid, signal)

  const abandon = () => send('SIGQUIT')
  process.prependOnceListener('exit', abandon)
  return {
    hasEnded,
    /** A fast shutdown, or else an immediate one, or else none. */
    async stop() {
      for (const signal of /** @type {const} */ (['SIGINT', 'SIGQUIT', 'SIGKILL'])) {
        if (hasEnded()) break
        send(signal)
        await Promise.race([ended, sleep(stopsWithinMs, undefined, { ref: false })])
      }
      process.off('exit', abandon)
    },
  }
}

/**
 * The server writes into its lock file when it takes connections; `pg_ctl` looks there too.
 *
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {ReturnType<typeof launch>} server
 */
async function waitUntilReady({ home, data }, server) {
  const deadline = performance.now() + readyWithinMs
  while (readLines(join(data, 'postmaster.pid'))[7]?.trim() !== 'ready') {
    const isLate = performance.now() > deadline
    if (server.hasEnded() || isLate) {
      const lastLines = readLines(join(home, 'log')).slice(-4).join(' ').trim()
      throw new Error(`the server ${isLate ? 'is not ready in time' : 'did not start'}: ${lastLines}`)
    }
    await sleep(pollMs)
  }
}

/** @param {string} path */
function readLines(path) {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}
