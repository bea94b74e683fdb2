import type { Agenda } from './agenda.js'
import type { SimulatedNode } from './node.js'
import type { Nodes } from './nodes.js'
import { type Act, eventIdOf } from './provider.js'
import type { Scenario } from './scenario.js'
import { newTask } from './world/task.js'
import type { World } from './world/world.js'

interface Delivering {
  readonly world: World
  readonly agenda: Agenda
  readonly nodes: Nodes
  readonly scenario: Scenario
  /** Who has sent something, and has not heard what came of it. */
  readonly waiting: Set<string>
  /** The provider hears that what it tells of this has arrived. */
  readonly acknowledged: (act: Act) => void
}

/**
 * The provider tells of each thing that it did by webhooks, over lines that break: of each once again, at the next of the nodes
 * that the scenario names, if it hears that this was in vain, or nothing.
 */
export function deliveries(around: Delivering): (act: Act) => void {
  const { world, agenda, nodes, scenario, waiting, acknowledged } = around
  const { deliveries: times = 0, deliveriesAfterMs = 0, deliveredAt = [0] } = scenario

  /** How often it has told of anything. */
  let told = 0

  function deliver(act: Act, tries: number): void {
    const index = deliveredAt[tries % deliveredAt.length] ?? 0
    const who = `the provider of ${act.id} (${++told})`
    waiting.add(who)
    const hears: Hears = (how) => {
      // It hears once: from the node, or that this has crashed.
      if (!waiting.delete(who)) return
      if (how === 'ok') acknowledged(act)
      else if (tries === 0) deliver(act, tries + 1)
    }
    const inVain = () => hears('in vain')
    world.send(
      {
        process: agenda.outside,
        port: 'network',
        words: () => `the provider tells node ${index + 1} of ${act.id}${tries === 0 ? '' : ', once again'}`,
        broken: brokenLine,
        adrift: brokenLine,
        happen() {
          nodes.at(index).process.onCrash.push(inVain)
          nodes.begins(index, act.id, (node) => received(node, act, hears))
        },
      },
      undefined,
      inVain,
    )
  }

  async function received({ process, webhooks }: SimulatedNode, act: Act, hears: Hears): Promise<void> {
    world.task = newTask(world.noted)
    const delivery = { headers: { 'event-id': eventIdOf(act) }, body: Buffer.from(JSON.stringify(act)) }
    const { status } = await webhooks(act.service).receive(delivery)
    const how = status < 300 ? 'ok' : 'in vain'
    world.send(
      {
        process,
        port: 'network',
        words: () => `${process.name} answers the provider with ${status}`,
        broken: brokenLine,
        isUnheeded: true,
        happen: () => hears(how),
      },
      undefined,
      () => hears('in vain'),
    )
  }

  return (act) => {
    const tell = () => deliver(act, 0)
    for (let count = 0; count < times; count++)
      if (deliveriesAfterMs === 0) tell()
      else world.clockOf(agenda.outside).after(deliveriesAfterMs, tell)
  }
}

type Hears = (how: 'ok' | 'in vain') => void

function brokenLine(): Error {
  return new Error('the line between provider and node broke')
}
