import { callingAlone, madeBy, type Program, subjectOf } from './application.js'
import type { SimulatedDatabase } from './database/database.js'
import type { SimulatedNode } from './node.js'
import type { Provider } from './provider.js'
import type { Scenario } from './scenario.js'

interface OperatorContext {
  readonly scenario: Scenario
  readonly database: SimulatedDatabase
  readonly provider: Provider
}

/** A person who looks at the provider's ledger, and says at a node what is there. */
export function operator({ scenario, database, provider }: OperatorContext): (node: SimulatedNode) => void {
  const { requests, faults, curt } = scenario

  /**
   * What is in the ledger has landed. What is not there has not, as far as anybody can see now. That he says it while the clock of
   * the database jumps ahead is a limit, which the page of what can be relied on names: so he does not where it may.
   */
  function testify({ hapax }: SimulatedNode): void {
    const seen = new Map(provider.ledger.map(({ key, id }) => [key, id]))
    const calls = [...database.calls()].map(({ key }) => key)
    const effects = [...database.effects()].map(({ downstreamKey }) => downstreamKey)
    for (const downstreamKey of new Set([...seen.keys(), ...calls, ...effects])) {
      if (downstreamKey === 'none') continue
      const id = seen.get(downstreamKey)
      if (id === undefined && (faults.jumps ?? 0) > 0) continue
      const landed = { says: 'landed', ...(curt !== 'operators' && { result: { id } }) } as const
      const said = id === undefined ? ({ says: 'not_landed' } as const) : landed
      void hapax.testify({ downstreamKey, ...said, by: 'operator:ann', why: 'the ledger' }).catch(() => undefined)
    }
  }

  /**
   * Nobody but a person can end a doubt about what a handler did by itself: he sees in the ledger that it has landed, and answers
   * the request in his own words.
   */
  function answer({ settle }: SimulatedNode): void {
    for (const { scope, key, generation, fence, state, operation } of database.records()) {
      if (state !== 'unknown' || !callingAlone.has(operation)) continue
      const made = madeBy[operation as Program]
      const id = provider.ledger.find((act) => act.subject === subjectOf({ tenant: scope, key }, generation))?.id
      const asked = requests.filter(({ order }) => order.tenant === scope && order.key === key)
      const amount = asked[0]?.order.amount
      if (id === undefined || asked.length === 0 || asked.some(({ order }) => order.amount !== amount)) continue
      const body = Buffer.from(JSON.stringify({ tenant: scope, key, amount, [made]: id, by: 'ann' }))
      const given = { kind: 'kept', status: 201, headers: [], body } as const
      const outcome = { kind: 'completed', answer: given, answerVersion: 1 } as const
      const evidence = { by: 'operator:ann', why: 'the ledger' }
      void settle({ scope, key }, { generation, fence, evidence, outcome }).catch(() => undefined)
    }
  }

  return (node) => {
    testify(node)
    answer(node)
  }
}
