/** A sandbox with simulated providers on ports and in folders of its own, and what goes wrong there. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../root.mjs'

/** @typedef {{ url: string, database: string, ask(path: string, body?: unknown, headers?: Record<string, string>): Promise<any>, outage(): Promise<void>, close(): Promise<void> }} Sandbox */

/** @returns {Promise<Sandbox>} */
export async function sandbox() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-recordings-'))
  const [stores, books] = [join(folder, 'data'), join(folder, 'providers')]
  const providers = await started('providers/main.js', {}, '--data', books)
  const api = await started('main.js', {
    HAPAX_DATA_DIR: stores,
    HAPAX_PROVIDERS_URL: JSON.parse(providers.line).url,
    SANDBOX_LEASE_SECONDS: '2',
  })
  const url = api.line.replace(/^ready /, '')
  return {
    url,
    database: join(stores, 'hapax.db'),
    async ask(path, body, headers = {}) {
      const write = { method: 'POST', body: JSON.stringify(body) }
      const sent = { authorization: 'Bearer ohk_test_acme', 'content-type': 'application/json', ...headers }
      const response = await fetch(`${url}${path}`, { headers: sent, ...(body !== undefined && write) })
      return response.json()
    },
    outage: () => ended(providers.child, 'SIGKILL'),
    async close() {
      await ended(api.child, 'SIGTERM')
      await ended(providers.child, 'SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * @param {string} program
 * @param {Record<string, string>} settings
 * @param {readonly string[]} args
 */
async function started(program, settings, ...args) {
  const env = { ...process.env, PORT: '0', HOST: '127.0.0.1', ...settings }
  const child = spawn(process.execPath, [join(root, 'examples/sandbox/dist', program), ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, line: String(line) }
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
async function ended(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'exit')
}
