import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** A process that runs one of the programs of this folder and talks to the test. */
export interface Program {
  readonly child: ChildProcess
  /** The next message it sends. Rejects when it ends before. */
  next(): Promise<unknown>
  tell(message: unknown): void
  /** How it ended. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; stderr: string }>
}

export function program(name: string, ...args: string[]): Program {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), args, {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
  })
  const messages: unknown[] = []
  const waiting: { resolve(message: unknown): void; reject(error: Error): void }[] = []
  let stderr = ''
  child.stderr?.on('data', (text) => (stderr += text))
  child.on('message', (message) => {
    const first = waiting.shift()
    if (first === undefined) messages.push(message)
    else first.resolve(message)
  })
  const ended = once(child, 'close').then(([code, signal]) => {
    for (const { reject } of waiting) reject(new Error(`${name} ended with ${code ?? signal}: ${stderr}`))
    return { code, signal, stderr }
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return {
    child,
    next: () =>
      messages.length > 0
        ? Promise.resolve(messages.shift())
        : new Promise((resolve, reject) => waiting.push({ resolve, reject })),
    tell: (message) => child.send(message as object),
    ended,
  }
}
