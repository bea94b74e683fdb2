import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import process from 'node:process'
import { bounded, gate } from './waiting.js'

/** The program that tests start, and why there may be none. */
export const redisBinary = process.env.HAPAX_TEST_REDIS
export const noRedis = 'HAPAX_TEST_REDIS names no redis-server'

/** A Redis of its own on the loopback, that keeps nothing on disk. */
export interface TestRedis {
  readonly port: number
  readonly url: string
  /** Its own process, to be stopped and to go on by signals. */
  readonly process: ChildProcess
  end(): Promise<void>
}

export async function startRedis(
  options: readonly string[] = [],
  { binary = redisBinary ?? '', port }: { readonly binary?: string; readonly port?: number } = {},
): Promise<TestRedis> {
  const at = port ?? (await freePort())
  const usual = ['--port', String(at), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn(binary, [...usual, ...options], { stdio: ['ignore', 'pipe', 'inherit'], cwd: tmpdir() })
  const ended = gate()
  child.on('exit', () => ended.open())
  const ready = gate()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/ready to accept connections/i.test(text)) ready.open()
  })
  await bounded(ready.opened, 'Redis to start')
  return {
    port: at,
    url: `redis://127.0.0.1:${at}`,
    process: child,
    async end() {
      child.kill('SIGKILL')
      await bounded(ended.opened, 'Redis to end')
    },
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}
