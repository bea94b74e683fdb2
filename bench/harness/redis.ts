import { execFile } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort, startDaemon } from '../../scripts/daemon.mjs'
import { foundProgram, redis } from '../../scripts/found-program.mjs'
import type { Later } from './closing.js'
import { temporaryFolder } from './temporary-folder.js'

export interface Redis {
  readonly url: string
  readonly version: string
}

/** When Redis flushes what it acknowledged: never by itself, every second, or before it acknowledges. */
export type Flushes = 'never' | 'everysec' | 'always'

/** Throws with the reason when there is no Redis to be had. */
export async function startedRedis(flushes: Flushes, later: Later): Promise<Redis> {
  const program = await foundProgram(redis, console.error)
  const home = temporaryFolder('redis', later)
  const port = await freePort()
  const appending = flushes === 'never' ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--appendfsync', flushes]
  const server = startDaemon({
    command: program,
    args: ['--bind', '127.0.0.1', '--port', String(port), '--dir', home, '--save', '', ...appending],
    options: { cwd: home, env: process.env },
    log: join(home, 'log'),
    stopSignals: ['SIGTERM', 'SIGKILL'],
    abandonSignal: 'SIGKILL',
  })
  later(() => server.stop())
  await server.untilReady(() => accepts(port))
  return { url: `redis://127.0.0.1:${port}`, version: await redisVersion() }
}

export async function redisVersion(): Promise<string> {
  const program = await foundProgram(redis, console.error)
  const { stdout } = await promisify(execFile)(program, ['--version'])
  return /v=([\d.]+)/.exec(stdout)?.[1] ?? 'unknown'
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (isReady: boolean) => {
      socket.destroy()
      resolve(isReady)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
