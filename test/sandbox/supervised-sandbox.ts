import { vi } from 'vitest'
import { tell } from './providers-process.js'
import { atEnd, type SandboxProcess, type Settings, startSandbox } from './sandbox-process.js'

/** What `npm start` runs: the supervisor, with an API and providers that are processes of their own. */
export async function startSupervised(settings: Settings = {}): Promise<SandboxProcess> {
  const sandbox = await startSandbox({ ...settings, program: 'supervisor/main.js' })
  // Its children end with it: before their directory goes, too.
  atEnd(async () => void (await sandbox.stop('SIGTERM')))
  return sandbox
}

/** The process that serves the API right now. */
export async function apiOf(sandbox: { readonly url: string }): Promise<{ pid: number; startedAt: string }> {
  const { json } = await tell(sandbox, 'GET', '/_sandbox/process')
  return json
}

/** Resolves once another process than this one serves. */
export function untilRestarted(sandbox: { readonly url: string }, killed: number): Promise<number> {
  const look = async () => {
    const { pid } = await apiOf(sandbox)
    if (pid === killed) throw new Error(`${pid} still serves`)
    return pid
  }
  return vi.waitFor(look, { timeout: 15_000, interval: 50 })
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
