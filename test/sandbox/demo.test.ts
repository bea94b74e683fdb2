import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { startProviders } from './providers-process.js'
import { atEnd } from './sandbox-process.js'
import { isAlive } from './supervised-sandbox.js'

describe('the demo', { timeout: 120_000 }, () => {
  test.concurrent('is so, from the first claim to the last, and has no colours where nobody sees them', async () => {
    // What is set for another sandbox is not for this one.
    const { code, stdout, stderr } = await demo(['--fast'], { SANDBOX_KEYS: 'uuid', SANDBOX_DELAY_MS: 'never' })
    expect([code, stderr]).toEqual([0, ''])
    for (const scene of [
      'A double click',
      'A lost response',
      'A mismatch',
      'Two tenants with one key',
      'The API is killed in the middle of a ride',
      'A provider that says nothing',
    ])
      expect(stdout).toContain(scene)
    expect(stdout).toMatch(/\nAll \d+ claims are so\.\n$/)
    expect(stdout).not.toContain('\u001b')
  })

  test.concurrent('ends with 1 where a claim is not so: a network on which charges arrive twice', async () => {
    const { url } = await doublingCharges(await startProviders())
    const { code, stdout } = await demo(['--fast'], { HAPAX_PROVIDERS_URL: url })
    expect(stdout).toMatch(/✗ the card processor has charged once\n +expected 1, found 2\n/)
    expect(stdout).toMatch(/\n[1-9] of \d+ claims are not so\.\n$/)
    expect(code).toBe(1)
  })
})

test('the demo says what it is, and refuses what it does not know', async () => {
  const { code, stdout } = await demo(['--help'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('--fast   no pauses for reading')])
  expect(await demo(['--slow'])).toMatchObject({ code: 1, stderr: expect.stringContaining('--slow') })
})

test('killed with SIGKILL, the demo takes its sandbox with it', { timeout: 60_000 }, async () => {
  const { child } = launched([])
  // Its sandbox has said by then what it has to say, so that nobody there writes into a pipe that is gone.
  for await (const line of createInterface({ input: child.stdout })) if (line.includes('A double click')) break
  const [supervisor] = childrenOf(child.pid, 1)
  // The providers and the API.
  const below = childrenOf(supervisor, 2)
  child.kill('SIGKILL')
  const everyone = [supervisor ?? 0, ...below]
  await vi.waitFor(() => expect(everyone.filter(isAlive)).toEqual([]), { timeout: 25_000, interval: 100 })
})

/** The processes that another one has started. */
function childrenOf(parent: number | undefined, count: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const all = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const children = all.filter(([, ppid]) => ppid === parent).map(([pid = 0]) => pid)
  expect(children).toHaveLength(count)
  return children
}

/** Stands before the providers, and sends each charge that was answered once more, without its key. */
async function doublingCharges({ url }: { readonly url: string }): Promise<{ readonly url: string }> {
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const body = request.method === 'GET' ? {} : { body: await text(request) }
    const key = request.headers['idempotency-key']
    const ask = (headers: Record<string, string>) =>
      fetch(url + request.url, { method: request.method ?? 'GET', headers, ...body })
    const answer = await ask(key === undefined ? {} : { 'idempotency-key': String(key) })
    if (request.url === '/card/charges') await ask({})
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }
  // Where they cut the connection, so do we.
  const server = createServer((request, response) => void pass(request, response).catch(() => response.destroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

async function demo(args: readonly string[], env: Record<string, string> = {}) {
  const { child, exited } = launched(args, env)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { code, stdout, stderr }
}

function launched(args: readonly string[], env: Record<string, string> = {}) {
  const program = fileURLToPath(new URL('../../examples/sandbox/dist/demo/main.js', import.meta.url))
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  // Its sandbox ends with it.
  atEnd(async () => {
    child.kill('SIGTERM')
    await exited
  })
  return { child, exited }
}
