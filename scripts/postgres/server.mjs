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
  const stop = () => server.stop().then(() => removeCluster(cluster.home))
  try {
    await waitUntilReady(cluster, server)
  } catch (error) {
    await stop()
    throw error
  }
  return { kind: 'running', url: `postgres://postgres@127.0.0.1:${port}/postgres`, source: binaries.source, stop }
}

/** @typedef {ReturnType<typeof launch>} Server */

/**
 * In a process group of its own: a Ctrl-C is for the tests, which stop the server when they have ended.
 *
 * @param {import('./cluster.mjs').Cluster} cluster
 * @param {number} port
 */
function launch({ home, data, bin, options }, port) {
  const log = openSync(join(home, 'log'), 'a')
  const args = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', home, '-c', 'fsync=on', '-c', 'max_connections=200']
  const child = spawn(join(bin, 'postgres'), args, { ...options, detached: true, stdio: ['ignore', log, log] })
  const { pid } = child
  if (pid === undefined) throw new Error(`${join(bin, 'postgres')} cannot be run`)

  const abandon = () => kill(pid, 'SIGQUIT')
  process.prependOnceListener('exit', abandon)
  const ended = new Promise((resolve) => child.once('exit', resolve))

  return {
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    /** Fast shutdown, then immediate, then none of its business any more. */
    async stop() {
      for (const signal of /** @type {const} */ (['SIGINT', 'SIGQUIT', 'SIGKILL'])) {
        kill(pid, signal)
        if (await within(stopsWithinMs, ended)) break
      }
      process.off('exit', abandon)
    },
  }
}
