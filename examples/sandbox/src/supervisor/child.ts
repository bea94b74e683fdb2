import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A process of ours that tells us when it serves, and ends when we do. */
export interface Child {
  readonly process: ChildProcess
  /** What it first told us; `undefined` when it ended before. */
  readonly told: Promise<unknown>
  readonly ended: Promise<End>
  /** Ends it well within the bound, or not so well. */
  stop(withinMs: number): Promise<void>
}

export interface End {
  readonly code: number | null
  readonly how: string
}

interface Program {
  /** Relative to the supervisor's folder. */
  readonly file: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly stdout: 'inherit' | 'ignore'
}

export function childOf({ file, args = [], env = {}, stdout }: Program): Child {
  const path = fileURLToPath(new URL(`../${file}`, import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, path, ...args], {
    stdio: ['ignore', stdout, 'inherit', 'ipc'],
    env: { ...process.env, ...env },
  })
  const ended = once(child, 'exit').then(
    ([code, signal]): End => ({ code, how: `(pid ${child.pid}) ended ${signal ? `by ${signal}` : `with ${code}`}` }),
    (error: Error): End => ({ code: 1, how: `could not be started (${error.message})` }),
  )
  const told = Promise.race([
    once(child, 'message').then(
      ([message]) => message,
      () => undefined,
    ),
    ended.then(() => undefined),
  ])
  return {
    process: child,
    told,
    ended,
    async stop(withinMs) {
      child.kill('SIGTERM')
      const giveUp = new AbortController()
      const bound = delay(withinMs, undefined, { signal: giveUp.signal }).then(
        () => child.kill('SIGKILL'),
        () => undefined,
      )
      await Promise.race([ended, bound])
      giveUp.abort()
      await ended
    },
  }
}
