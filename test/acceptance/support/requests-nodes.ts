import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** Nodes of an application as processes of their own, on a database that they share. */

interface HalfWay {
  readonly path: string
  readonly key: string
  readonly lease?: string
  readonly onCrash?: 'unknown' | 'retry'
  /** In its handler, or inside a transaction that has already written a row. */
  readonly where: 'handler' | 'transaction'
}

/** Lets a node get half-way through a request, then kills it with SIGKILL. */
export async function crashHalfWay(settings: HalfWay): Promise<void> {
  const child = start('requests-holder.mjs', [JSON.stringify(settings)])
  await messageOf(child)
  child.kill('SIGKILL')
  await once(child, 'exit')
}

export interface Race {
  readonly path: string
  readonly effects: string
  readonly nodes: number
  readonly keys: number
  readonly racersPerNode: number
}

/** Starts all nodes, lets them go at once, and tells what their requests got. */
export async function race({ path, effects, nodes, keys, racersPerNode }: Race): Promise<readonly Raced[]> {
  const args = [path, effects, String(keys), String(racersPerNode)]
  const children = Array.from({ length: nodes }, () => start('requests-racer.mjs', args))
  await Promise.all(children.map(messageOf))
  const results = children.map(messageOf)
  for (const child of children) child.send('go')
  return (await Promise.all(results)) as Raced[]
}

export interface Raced {
  readonly ran: number
  readonly replayed: number
  readonly refused: number
}

function start(program: string, args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), args)
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** The next message of a node; one that ends without it has failed, and says why on stderr. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`a node ended early with ${code}`))),
  ])
  return message
}
