import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { Redis } from 'ioredis'
import { bounded, gate, until } from './waiting.js'

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

/** Two servers that share the slots of a cluster. */
export async function startRedisCluster(): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'hapax-redis-'))
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000', '--dir', folder]
  // Where a server hears the other one: left to itself it takes a port that may be past the last there is.
  const bus = await freePort()
  const [one, other] = await Promise.all([
    startRedis([...options, '--cluster-config-file', 'one.conf', '--cluster-port', String(await freePort())]),
    startRedis([...options, '--cluster-config-file', 'other.conf', '--cluster-port', String(bus)]),
  ])
  const [first, second] = [new Redis(one.port), new Redis(other.port)]
  await first.cluster('ADDSLOTSRANGE', 0, 8191)
  await second.cluster('ADDSLOTSRANGE', 8192, 16_383)
  await first.call('CLUSTER', 'MEET', '127.0.0.1', other.port, bus)
  for (const redis of [first, second]) {
    const state = () => redis.cluster('INFO') as Promise<string>
    await until(state, (info) => info.includes('cluster_state:ok'), 'the cluster to be one')
    redis.disconnect()
  }
  return {
    ...one,
    async end() {
      await Promise.all([one.end(), other.end()])
      await rm(folder, { recursive: true })
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
