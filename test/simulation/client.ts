import type { Reply } from '../../src/http/exchange.js'
import type { Order, Program } from './application.js'
import { malformed } from './misspelt.js'
import type { SimulatedNode } from './node.js'
import { isAnswered, linesOf, type Replied, replayed, textOf } from './sent.js'
import type { PortCall } from './world/port-call.js'
import { newProcess, type Process } from './world/process.js'
import { newTask, type Task } from './world/task.js'
import type { World } from './world/world.js'

/** What a client was told, or that the line broke. */
export interface Told {
  readonly client: string
  /** At the end, when nothing goes wrong any more. */
  readonly isAskingAgain: boolean
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

export interface Asking {
  readonly program: Program
  readonly order: Order
  /** The node that each attempt goes to. */
  readonly nodes: readonly number[]
  readonly isAskingAgain?: true
}

export interface ClientContext {
  readonly world: World
  readonly node: (index: number) => SimulatedNode
  /** Says that a request leaves, and how much has been heard by then. */
  readonly sent: (client: string) => number
  readonly heard: (told: Told) => void
  /** Called when a node begins to send something. Gives what the key stands for. */
  readonly sending: (task: Task, order: Order, reply: Replied) => number
}

/** Sends a request, and again with the same key until it has an answer or no attempt is left. */
export async function client(name: string, asking: Asking, around: ClientContext): Promise<void> {
  const { program, order, nodes, isAskingAgain = false } = asking
  const { world, sent, heard } = around
  const process = world.add(newProcess(name))
  const clock = world.clockOf(process)
  for (const [at, index] of nodes.entries()) {
    const sentAfter = sent(name)
    const { reply, received } = await asked(process, { index, program, order, isLast: at === nodes.length - 1 }, around)
    heard({ client: name, isAskingAgain, program, order: received, sentAfter, reply })
    if (reply !== 'lost' && isAnswered(reply)) return
    await new Promise<void>((resolve) => clock.after(1_000, resolve))
  }
}

/** One attempt. The request may be lost, or the reply, or the node that has it. */
function asked(
  process: Process,
  { index, program, order, isLast }: Attempt,
  { world, node: nodeAt, sending }: ClientContext,
): Promise<Attempted> {
  return new Promise((hear) => {
    const lost = () => hear({ reply: 'lost', received: order })
    const request: PortCall<void> = {
      process,
      port: 'network',
      words: () => `${process.name} sends ${sentAs(order)} to node ${index + 1}`,
      broken: brokenLine,
      adrift: brokenLine,
      happen() {
        const node = nodeAt(index)
        node.process.onCrash.push(lost)
        world.hearing.arrives(node.process, process.name, () => {
          const task = newTask(world.noted)
          world.task = task
          if (order.misspelt !== undefined) task.refusedWith = malformed
          const received = node.received(order)
          const answers = (reply: Reply) => answered(node, received, task, reply)
          node.answer(program, received).then(answers, () => answers(serverError))
        })
      },
    }
    world.send(request, undefined, lost)

    function answered(node: SimulatedNode, received: Order, task: Task, { status, headers, body }: Reply): void {
      const isReplay = headers.some(([name]) => name === replayed)
      const [text, lines] = [textOf(body), linesOf(headers)]
      const epoch = sending(task, received, { status, body: text, lines, isReplay })
      const reply = { status, body: text, lines, isReplay, epoch }
      const answer: PortCall<void> = {
        process: node.process,
        port: 'network',
        words: () => `${node.process.name} answers ${process.name} with ${status}`,
        broken: brokenLine,
        isUnheeded: true,
        isUrgent: isLast,
        happen: () => hear({ reply, received }),
      }
      world.send(answer, undefined, lost)
    }
  })
}

/** As its client sends it: a key that is minted is known to nobody yet. */
function sentAs({ tenant, key, isKeyless, misspelt }: Order): string {
  if (isKeyless) return `a request of ${tenant} without a key`
  return misspelt === undefined ? `${tenant}/${key}` : `${tenant}/${key}, misspelt (${misspelt}),`
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
interface Attempted {
  readonly reply: Told['reply']
  readonly received: Order
}

/** What a framework answers when a handler throws. */
const serverError: Reply = { status: 500, headers: [], body: Buffer.from('thrown') }
