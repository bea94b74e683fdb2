import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PolicyOptions } from 'hapax'
import { onTestFinished } from 'vitest'

/** A real process that runs guarded handlers on a SQLite file; `node.mjs` is its program. */
export interface NodeProcess {
  readonly child: ChildProcess
  /** Begins a run and does not wait for it. */
  run(order: Order): void
  /** Lets the handlers that wait go on. */
  go(): void
  /** The first line in which the process said this of the key, now or later. */
  heard(said: Said['said'], key: string): Promise<Said>
  /** How often it said this so far. */
  count(said: Said['said'], key: string): number
  kill(): Promise<void>
}

export interface Order {
  readonly key: string
  readonly handler: 'answers' | 'hangs' | 'charges' | 'pays' | 'waits, then pays' | 'pays, and never commits'
  readonly policy?: Partial<PolicyOptions>
  readonly gateway?: string
}

export interface Said {
  readonly said: 'ready' | 'started' | 'inserted' | 'ended'
  readonly key: string
  readonly value?: unknown
  readonly replayed?: boolean
  readonly code?: string
}

const program = fileURLToPath(new URL('./node.mjs', import.meta.url))

/** `clockAheadMs` sets the process's own clock wrong, and not that of the file. */
export async function startNode(path: string, { clockAheadMs = 0 } = {}): Promise<NodeProcess> {
  const child = spawn(process.execPath, [program, path, String(clockAheadMs)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const heardSoFar: Said[] = []
  lines.on('line', (line) => heardSoFar.push(JSON.parse(line)))
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)

  const matching = (said: Said['said'], key: string) =>
    heardSoFar.filter((line) => line.said === said && line.key === key)

  const heard = async (said: Said['said'], key: string): Promise<Said> => {
    for (;;) {
      const [found] = matching(said, key)
      if (found !== undefined) return found
      const event = await Promise.race([once(lines, 'line'), exited.then(() => 'gone')])
      if (event === 'gone') throw new Error(`the process ended before it said "${said}" of ${key}`)
    }
  }

  await heard('ready', '')
  return {
    child,
    run: (order) => void child.stdin.write(`${JSON.stringify(order)}\n`),
    go: () => void child.stdin.write('go\n'),
    heard,
    count: (said, key) => matching(said, key).length,
    kill,
  }
}
