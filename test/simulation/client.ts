import type { Order, Program } from './application.js'
import type { SimulatedNode } from './node.js'
import { newProcess, type Process, remembered } from './world/process.js'
import { newTask, type Task } from './world/task.js'
import type { World } from './world/world.js'

/** What a client was told, or that the line broke. */
export interface Told {
  readonly client: string
  readonly program: Program
  readonly order: Order
  /** How much had been heard by anybody when it was sent. */
  readonly sentAfter: number
  readonly reply: Heard | 'lost'
}

export interface Heard extends Replied {
  /** What the key stood for when it was sent: a number that rises when it is used anew. */
  readonly epoch: number
}

export interface Sent {
  readonly status: number
  readonly body: string
  /** Where what was made is to be found: the header that every program sends. */
  readonly location: string | undefined
}

/** The same, and whether it is said to be the answer of an earlier one. */
export interface Replied extends Sent {
  readonly isReplay: boolean
}

export interface Asking {
  readonly program: Program
  readonly order: Order
  /** The node that each attempt goes to. */
  readonly nodes: readonly number[]
}

export interface Surroundings {
  readonly world: World
  readonly node: (index: number) => SimulatedNode
  /** Says that a request leaves, and how much has been heard by then. */
  readonly sent: (client: string) => number
  readonly heard: (told: Told) => void
  /** Called when a node begins to send something. Gives what the key stands for. */
  readonly sending: (task: Task, order: Order, reply: Replied) => number
}

/** Sends a request, and again with the same key until it has an answer or no attempt is left. */
export async function client(name: string, { program, order, nodes }: Asking, around: Surroundings): Promise<void> {
  const { world, sent, heard } = around
  const process = world.add(newProcess(name))
  const clock = world.clockOf(process)
  for (const [at, index] of nodes.entries()) {
    const sentAfter = sent(name)
    const { reply, received } = await asked(process, { index, program, order, isLast: at === nodes.length - 1 }, around)
    heard({ client: name, program, order: received, sentAfter, reply })
    if (reply !== 'lost' && isFinal(reply.status)) return
    await new Promise<void>((resolve) => clock.after(1_000, resolve))
  }
}

/** What a client takes for an answer: it asks no more. */
export function isFinal(status: number): boolean {
  return status < 400 || status === 402 || status === 422
}

/** One attempt. The request may be lost, or the reply, or the node that has it. */
function asked(
  process: Process,
  { index, program, order, isLast }: Attempt,
  { world, node: nodeAt, sending }: Surroundings,
): Promise<Asked> {
  return new Promise((hear) => {
    const lost = () => hear({ reply: 'lost', received: order })
    const arrives = world.call({
      process,
      port: 'network',
      words: () => `${process.name} sends ${order.tenant}/${order.key} to node ${index + 1}`,
      broken: brokenLine,
      adrift: brokenLine,
      happen() {
        const node = nodeAt(index)
        if (world.remembers) node.process.told = remembered(node.process.told, world.time, process.name)
        node.process.onCrash.push(lost)
        const task = newTask(world.steps)
        world.task = task
        void answered(node, node.received(order), task)
      },
    })
    arrives.catch(lost)

    async function answered(node: SimulatedNode, received: Order, task: Task): Promise<void> {
      const { status, headers, body } = await node.answer(program, received).catch(() => serverError)
      const isReplay = headers.some(([name]) => name.length === replayed.length && name.toLowerCase() === replayed)
      const location = headers.find(([name]) => name.length === 8 && name.toLowerCase() === 'location')?.[1]
      const text = textOf(body)
      const epoch = sending(task, received, { status, body: text, location, isReplay })
      const reply = { status, body: text, location, isReplay, epoch }
      world
        .call({
          process: node.process,
          port: 'network',
          words: () => `${node.process.name} answers ${process.name} with ${status}`,
          broken: brokenLine,
          isUnheeded: true,
          isUrgent: isLast,
          happen: () => hear({ reply, received }),
        })
        .catch(lost)
    }
  })
}

const replayed = 'idempotent-replayed'

/** Its bytes are read where they are. */
export function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

function brokenLine(): Error {
  return new Error('the line between client and node broke')
}

interface Attempt {
  readonly index: number
  readonly program: Program
  readonly order: Order
  /** Whatever comes of it, its client asks no more: when it hears of it changes nothing. */
  readonly isLast: boolean
}

/** What came of one attempt, and what was asked for as the node saw it. */
interface Asked {
  readonly reply: Told['reply']
  readonly received: Order
}

/** What a framework answers when a handler throws. */
const serverError = { status: 500, headers: [] as readonly (readonly [string, string])[], body: Buffer.from('thrown') }
