import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { vi } from 'vitest'
import { atEnd, emptyDirectory } from './sandbox-process.js'

/** The simulated providers, as a process of their own. */
export interface ProvidersProcess {
  readonly url: string
  readonly pid: number
  readonly dataDir: string
  readonly exited: Promise<number | null>
  /** Sends the signal and gives the exit code; `null` when the signal itself ended it. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

const program = fileURLToPath(new URL('../../examples/sandbox/dist/providers/main.js', import.meta.url))

/** `shell` is a POSIX shell line that runs first, such as a limit for the process. */
export async function startProviders(given?: string, shell = ':'): Promise<ProvidersProcess> {
  const dataDir = given ?? (await emptyDirectory())
  const { line, child, exited } = await firstLine(dataDir, shell)
  const { url, pid } = JSON.parse(line)
  return {
    url,
    pid,
    dataDir,
    exited,
    stop(signal) {
      child.kill(signal)
      return exited
    },
  }
}

/** Starts them where they must not serve, and gives what they said. */
export async function refusedProviders(dataDir: string): Promise<{ code: number | null; said: string }> {
  const { line, exited } = await firstLine(dataDir)
  return { code: await exited, said: line }
}

async function firstLine(dataDir: string, shell = ':') {
  const args = ['-c', `${shell}; exec "$@"`, 'sh', process.execPath, program, '--data', dataDir]
  const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const complaint = text(child.stderr)
  atEnd(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const lines = createInterface({ input: child.stdout })
  const [line] = await Promise.race([once(lines, 'line'), exited.then(async () => [await complaint])])
  return { line: String(line), child, exited }
}

export interface Told {
  readonly status: number
  readonly isReplay: boolean
  // biome-ignore lint/suspicious/noExplicitAny: what the providers say is looked at by what the test expects.
  readonly json: any
}

export async function tell(
  { url }: { readonly url: string },
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  path: string,
  { key, body, signal }: { key?: string; body?: unknown; signal?: AbortSignal } = {},
): Promise<Told> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  })
  const isReplay = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, isReplay, json: JSON.parse(await response.text()) }
}

export async function ledger(at: { readonly url: string }, query = ''): Promise<Record<string, unknown>[]> {
  return (await tell(at, 'GET', `/_providers/ledger${query}`)).json.entries
}

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Takes webhooks, and answers each with the next of these statuses; 200 when there are no more. */
export async function receiver(statuses: number[] = [], port = 0) {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    received.push({ headers: request.headers, body: await text(request) })
    response.writeHead(statuses.shift() ?? 200).end('{}')
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  atEnd(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, close }
}

/** Looks until it is as expected. */
export function until(look: () => Promise<unknown>): Promise<unknown> {
  return vi.waitFor(look, { timeout: 10_000, interval: 20 })
}
