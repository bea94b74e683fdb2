import { type ChildProcess, fork } from 'node:child_process'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Later } from './closing.js'

/** A process of a bench that answers one message at a time. */
export interface Child {
  /** Rejects when it failed, is silent for too long, or gone. */
  ask<Answer>(message: object): Promise<Answer>
}

interface Start {
  /** What it is told at its start. */
  readonly settings?: object
  readonly later: Later
  readonly execArgv?: readonly string[]
}

/** Longer than any measurement takes. */
const patienceMs = 60_000

/** Whatever ends this process ends it too. No TypeScript in there: what translates it on the fly would make every closure slower. */
export function start(file: URL, { settings = {}, later, execArgv = [] }: Start): Child {
  const child = fork(fileURLToPath(file), [JSON.stringify(settings)], {
    execArgv: [...execArgv],
    // Fastify logs nothing then, Express prints no errors, and no store warns that it forgets.
    env: { ...process.env, NODE_ENV: 'test' },
  })
  later(() => child.kill('SIGKILL'))
  const name = basename(file.pathname)
  return { ask: (message) => answered(child, name, message) }
}

function answered<Answer>(child: ChildProcess, name: string, message: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settle = (decide: () => void) => {
      clearTimeout(timer)
      child.off('message', hear).off('exit', gone)
      decide()
    }
    const hear = (said: unknown) => {
      const { answer, failed } = said as { answer: Answer; failed?: string }
      settle(() => (failed === undefined ? resolve(answer) : reject(new Error(`${name} failed: ${failed}`))))
    }
    const gone = () => settle(() => reject(new Error(`${name} ended before it answered: see above.`)))
    const late = () => settle(() => reject(new Error(`${name} did not answer within ${patienceMs} ms.`)))
    const timer = setTimeout(late, patienceMs)
    child.on('message', hear).on('exit', gone)
    if (child.connected) child.send(message)
    else gone()
  })
}
