import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** Nodes of an application, as processes of their own, that race for the keys of a database they share. */
export interface Race {
  readonly path: string
  /** The file to which a node writes a line whenever a handler of it ran. */
  readonly effects: string
  readonly nodes: number
  readonly racersPerNode: number
  readonly rounds: readonly (readonly string[])[]
}

/** Lets all nodes go at once in every round, each with another key first, and gives how often each ran a handler. */
export async function race({ path, effects, nodes, racersPerNode, rounds }: Race): Promise<readonly number[]> {
  const children = Array.from({ length: nodes }, () => start([path, effects, String(racersPerNode)]))
  await Promise.all(children.map(messageOf))
  const ran = children.map(() => 0)
  for (const keys of rounds) {
    const ends = children.map(async (child, node) => {
      const { ran } = (await messageOf(child)) as { ran: number }
      return { node, ran }
    })
    for (const [node, child] of children.entries()) {
      const first = Math.floor((node * keys.length) / nodes)
      child.send([...keys.slice(first), ...keys.slice(0, first)])
    }
    for (const end of await Promise.all(ends)) ran[end.node] = (ran[end.node] ?? 0) + end.ran
  }
  return ran
}

function start(args: readonly string[]): ChildProcess {
  const child = fork(fileURLToPath(new URL('racer.mjs', import.meta.url)), args)
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** The next message of a node; one that ends without it has failed, and says why on stderr. */
async function messageOf(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController()
  const { signal } = heard
  const ended = once(child, 'exit', { signal }).then(([code]) => Promise.reject(new Error(`a node ended: ${code}`)))
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended])
    return message
  } finally {
    heard.abort()
  }
}
