import type { Agenda } from './agenda.js'
import type { Nodes } from './nodes.js'
import { type Act, eventIdOf } from './provider.js'
import type { Scenario } from './scenario.js'

interface Delivering {
  readonly agenda: Agenda
  readonly nodes: Nodes
  readonly scenario: Scenario
  /** The provider hears that what it tells of this has arrived. */
  readonly acknowledged: (act: Act) => void
}

/** The provider tells of each thing that it did by webhooks: of each once again, if it hears that this was in vain, or nothing. */
export function deliveries({ agenda, nodes, scenario, acknowledged }: Delivering): (act: Act) => void {
  function deliver(act: Act, tries: 'tries' | 'insists'): void {
    const delivery = { headers: { 'event-id': eventIdOf(act) }, body: Buffer.from(JSON.stringify(act)) }
    const again = () => {
      if (tries === 'tries') agenda.sometime(`the provider tells again of ${act.id}`, () => deliver(act, 'insists'))
    }
    nodes.begins(0, act.id, async ({ webhooks, process }) => {
      process.onCrash.push(again)
      const { status } = await webhooks(act.service).receive(delivery)
      process.onCrash.splice(process.onCrash.indexOf(again), 1)
      if (status < 300) acknowledged(act)
      else again()
    })
  }

  const { deliveries: times = 0, deliveriesAfterMs } = scenario
  return (act) => {
    for (let count = 0; count < times; count++)
      agenda.sometime(`the provider tells of ${act.id}`, () => deliver(act, 'tries'), deliveriesAfterMs)
  }
}
