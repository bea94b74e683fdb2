import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'
import { usual } from '../acceptance/support/usual-settings.js'

/** Where a sandbox is asked. */
export interface Api {
  readonly url: string
}

/** The real sandbox, as a process of its own on a free port. Whatever a test file leaves behind ends with it. */
export interface SandboxProcess extends Api {
  readonly dataDir: string
  readonly child: ChildProcess
  /** Everything it has printed so far. */
  readonly printed: { stdout: string; stderr: string }
  /** Sends the signal and gives the exit code; `null` when the signal itself ended it. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

export interface Settings {
  /** The API alone, unless another one of its programs is named. */
  readonly program?: 'main.js' | 'supervisor/main.js'
  readonly dataDir?: string
  readonly env?: Record<string, string>
  /** A POSIX shell line that runs first, such as a limit for the process. */
  readonly shell?: string
}

const leftBehind: (() => Promise<void>)[] = []

/** Removes something when the test file is done. */
export function atEnd(remove: () => Promise<void>): void {
  leftBehind.push(remove)
}

afterAll(async () => {
  // Last in, first out: a process ends before its directory goes.
  for (const remove of leftBehind.reverse()) await remove()
})

const programs = new URL('../../examples/sandbox/dist/', import.meta.url)

export async function startSandbox(settings: Settings = {}): Promise<SandboxProcess> {
  const dataDir = settings.dataDir ?? (await emptyDirectory())
  const { child, printed, exited } = launch({ ...settings, dataDir })
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([once(lines, 'line'), exited.then(() => [printed.stderr])])
  const url = /^ready (http:\/\/\S+)$/.exec(String(line))?.[1]
  if (url === undefined) throw new Error(`the sandbox did not start: ${line}`)
  return {
    url,
    dataDir,
    child,
    printed,
    stop(signal) {
      child.kill(signal)
      return exited
    },
  }
}

/** Starts it where it must refuse, and gives what it said. */
export async function refusedStart(
  env: Record<string, string>,
  program: 'main.js' | 'supervisor/main.js' = 'main.js',
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { printed, exited } = launch({ env, program, dataDir: env.HAPAX_DATA_DIR ?? (await emptyDirectory()) })
  const code = await exited
  return { code, ...printed }
}

export async function emptyDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-sandbox-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  return directory
}

function launch({
  dataDir,
  env = {},
  shell = ':',
  program: name = 'main.js',
}: Settings & { readonly dataDir: string }) {
  const program = fileURLToPath(new URL(name, programs))
  if (!existsSync(program)) throw new Error('The sandbox is not built. Run: npm run build && npm run build:sandbox')
  const child = spawn('sh', ['-c', `${shell}; exec "$0" "$1"`, process.execPath, program], {
    env: { PATH: process.env.PATH, PORT: '0', HAPAX_DATA_DIR: dataDir, ...usual, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    printed.stdout += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    printed.stderr += chunk
  })
  const exited = once(child, 'close').then(([code]) => code as number | null)
  atEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })
  return { child, printed, exited }
}
