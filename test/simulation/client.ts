import type { Order, Program } from './application.js'
import type { SimulatedNode } from './node.js'
import { newProcess, type Process } from './world/process.js'
import type { World } from './world/world.js'

/** What a client was told, or that the line broke. */
export interface Told {
  readonly client: string
  readonly program: Program
  readonly order: Order
  /** How much had been heard by anybody when it was sent. */
  readonly sentAfter: number
  readonly reply: { readonly status: number; readonly body: string; readonly isReplay: boolean } | 'lost'
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
  /** Called when a node begins to send an answer. */
  readonly sending: (program: Program, order: Order, reply: { readonly status: number; readonly body: string }) => void
}

/** Sends a request, and again with the same key until it has an answer or no attempt is left. */
export async function client(name: string, { program, order, nodes }: Asking, around: Surroundings): Promise<void> {
  const { world, sent, heard } = around
  const process = world.add(newProcess(name))
  const clock = world.clockOf(process)
  for (const index of nodes) {
    const sentAfter = sent(name)
    const reply = await asked(process, index, program, order, around)
    heard({ client: name, program, order, sentAfter, reply })
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
  index: number,
  program: Program,
  order: Order,
  { world, node: nodeAt, sending }: Surroundings,
): Promise<Told['reply']> {
  return new Promise((hear) => {
    const lost = () => hear('lost')
    const arrives = world.call({
      process,
      port: 'network',
      words: () => `${process.name} sends ${order.tenant}/${order.key} to node ${index + 1}`,
      broken: () => new Error('the line to the node broke'),
      happen() {
        const node = nodeAt(index)
        node.process.onCrash.push(lost)
        void answered(node)
      },
    })
    arrives.catch(lost)

    async function answered(node: SimulatedNode): Promise<void> {
      const { status, headers, body } = await node.answer(program, order).catch(() => serverError)
      const reply = {
        status,
        body: textOf(body),
        isReplay: headers.some(([name]) => name.length === replayed.length && name.toLowerCase() === replayed),
      }
      sending(program, order, reply)
      world
        .call({
          process: node.process,
          port: 'network',
          words: () => `${node.process.name} answers ${process.name} with ${status}`,
          broken: () => new Error('the line to the client broke'),
          happen: () => hear(reply),
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

/** What a framework answers when a handler throws. */
const serverError = { status: 500, headers: [] as readonly (readonly [string, string])[], body: Buffer.from('thrown') }
