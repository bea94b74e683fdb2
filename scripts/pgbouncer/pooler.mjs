/** One pgbouncer of our own, on a free port of the loopback, that leaves nothing behind. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import process from 'node:process'
import { freePort, startDaemon } from '../daemon.mjs'
import { giveTo, reachableTemporaryFolder, serverUser } from '../postgres/server-user.mjs'
import { settingsFor, usersFor } from './settings.mjs'

/**
 * @param {string} binary
 * @param {string} serverUrl the PostgreSQL behind it
 * @returns {Promise<import('../postgres.mjs').Running>}
 */
export async function startPooler(binary, serverUrl) {
  const port = await freePort()
  const home = createHome(serverUrl, port)
  const pooler = launch(binary, home)
  const stop = async () => {
    await pooler.stop()
    removeHome(home)
  }
  try {
    await pooler.untilReady(() => isListening(port))
  } catch (error) {
    await stop()
    throw error
  }
  return { kind: 'running', url: throughPort(serverUrl, port), source: binary, stop }
}

/**
 * @param {string} serverUrl
 * @param {number} port
 */
function createHome(serverUrl, port) {
  const home = mkdtempSync(join(reachableTemporaryFolder(), 'hapax-pgbouncer-'))
  process.once('exit', () => removeHome(home))
  const users = join(home, 'users')
  writeFileSync(users, usersFor(serverUrl), { mode: 0o600 })
  writeFileSync(join(home, 'settings'), settingsFor(serverUrl, { port, users }))
  const user = serverUser()
  if (user !== undefined) giveTo(user, home)
  return home
}

/** @param {string} home */
function removeHome(home) {
  rmSync(home, { recursive: true, force: true, maxRetries: 10 })
}

/**
 * @param {string} binary
 * @param {string} home
 */
function launch(binary, home) {
  return startDaemon({
    command: binary,
    args: [join(home, 'settings')],
    options: { cwd: home, env: { PATH: process.env.PATH, HOME: home, LC_ALL: 'C' }, ...serverUser() },
    log: join(home, 'log'),
    // Newer ones wait for their clients on the first signal. There is nothing in a pooler that could be lost.
    stopSignals: ['SIGTERM', 'SIGKILL'],
    abandonSignal: 'SIGKILL',
  })
}

/**
 * @param {number} port
 * @returns {Promise<boolean>}
 */
function isListening(port) {
  const probe = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    probe.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).finally(() => probe.destroy())
}

/**
 * @param {string} serverUrl
 * @param {number} port
 */
function throughPort(serverUrl, port) {
  const url = new URL(serverUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}
