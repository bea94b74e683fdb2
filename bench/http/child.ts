import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A process of this bench that answers one message at a time. Whatever ends this process ends it too. */
export interface Child {
  /** Rejects when it is silent for too long, or gone. */
  ask<Answer>(message: object): Promise<Answer>
  end(): void
}

/** Longer than any measurement takes. */
const patienceMs = 60_000

export function start(file: 'server.mjs' | 'client.ts', ...args: readonly string[]): Child {
  const process = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
    execArgv: file === 'client.ts' ? ['--import', 'tsx'] : [],
    // Fastify logs nothing then, and no store warns that it forgets.
    env: { ...globalThis.process.env, NODE_ENV: 'test' },
  })
  return {
    ask: (message) => answered(process, file, message),
    end: () => void process.kill('SIGKILL'),
  }
}

function answered<Answer>(child: ChildProcess, file: string, message: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settle = (decide: () => void) => {
      clearTimeout(timer)
      child.off('message', hear).off('exit', fail)
      decide()
    }
    const hear = (answer: unknown) => settle(() => resolve(answer as Answer))
    const fail = () => settle(() => reject(new Error(`${file} ended before it answered: see above.`)))
    const timer = setTimeout(
      () => settle(() => reject(new Error(`${file} did not answer within ${patienceMs} ms.`))),
      patienceMs,
    )
    child.on('message', hear).on('exit', fail)
    child.send(message)
  })
}
