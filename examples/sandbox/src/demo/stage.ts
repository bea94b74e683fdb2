import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A sandbox of our own, on data and ports that nobody else has, as `npm start` would start it. */
export interface Stage {
  readonly url: string
  /** The process of the providers: what only this machine may ask. */
  readonly providersUrl: string
  /** How long a crash locks a key here, in seconds. */
  readonly leaseSeconds: number
  end(): Promise<void>
}

const supervisor = fileURLToPath(new URL('../supervisor/main.js', import.meta.url))
const startWithinMs = 60_000
const endWithinMs = 20_000
const leaseSeconds = 3

export async function openStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-demo-'))
  const own = { PORT: '0', HOST: '127.0.0.1', HAPAX_DATA_DIR: directory, DATABASE_URL: '' }
  const child = spawn(process.execPath, [supervisor], {
    env: { ...withoutSettings(process.env), ...own, SANDBOX_LEASE_SECONDS: String(leaseSeconds) },
    // By the channel it notices our end, also where we are killed and can do nothing about it.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  // Whatever else ends us ends it.
  const endWithUs = () => void child.kill('SIGTERM')
  process.once('exit', endWithUs)
  const end = async () => {
    process.off('exit', endWithUs)
    await ended(child)
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const { url, said } = await ready(child)
    const providersUrl = process.env.HAPAX_PROVIDERS_URL || /^providers: (http:\S+),/m.exec(said())?.[1]
    if (providersUrl === undefined) throw new Error(`It does not say where the providers are: ${said()}`)
    return { url, providersUrl, leaseSeconds, end }
  } catch (error) {
    await end()
    throw error
  }
}

/** What somebody has set for a sandbox of theirs is not meant for this one. */
function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SANDBOX_')))
}

async function ready(child: ChildProcess): Promise<{ url: string; said: () => string }> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk
  })
  if (child.stdout === null) throw new Error('It has no stdout.')
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([
    once(lines, 'line', { signal: AbortSignal.timeout(startWithinMs) }),
    once(child, 'exit').then(() => ['']),
  ])
  const url = /^ready (http:\S+)$/.exec(String(line))?.[1]
  if (url === undefined) throw new Error(`The sandbox did not start: ${said}`)
  return { url, said: () => said }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const giveUp = setTimeout(() => child.kill('SIGKILL'), endWithinMs)
  await exited
  clearTimeout(giveUp)
}
