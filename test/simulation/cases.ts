import type { WorkerName } from '../../src/workers/services.js'
import type { Program } from './application.js'
import type { Scenario } from './scenario.js'

/** A small scenario of which every schedule is run. */
export interface Case {
  readonly name: string
  readonly scenario: Scenario
}

const order = { tenant: 'acme', key: 'k1', amount: 1, item: 'boat' }
const request = (program: Program, node = 0) => ({ program, order, nodes: [node] })
const pass = (worker: WorkerName, node = 1) => ({ worker, node })

/** A request that one worker gets in the way of, while one node crashes. */
function against(worker: WorkerName, program: Program): Case {
  return {
    name: `a request (${program}) against the ${worker}, one crash`,
    scenario: { requests: [request(program)], passes: [pass(worker)], faults: { crashes: 1, haste: 1 } },
  }
}

export const cases: readonly Case[] = [
  {
    name: 'two requests, one crash, one ambiguous commit',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { crashes: 1, breaks: 1 } },
  },
  {
    name: 'two requests as one transaction each, one crash, one ambiguous commit',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { crashes: 1, breaks: 1 } },
  },
  {
    name: 'three requests, one crash',
    scenario: { requests: [request('plain'), request('plain', 1), request('plain', 2)], faults: { crashes: 1 } },
  },
  against('sweeper', 'plain'),
  against('sweeper', 'transfers'),
  against('reaper', 'plain'),
  against('resumer', 'rides'),
  against('reconciler', 'transfers'),
  {
    name: 'a call whose reply is lost against the reconciler',
    scenario: { requests: [request('transfers')], passes: [pass('reconciler')], faults: { breaks: 1 } },
  },
  {
    name: 'a request against a webhook that tells of its call, one crash',
    scenario: { requests: [request('transfers')], deliveries: 1, faults: { crashes: 1 } },
  },
  {
    name: 'a request against a holder that was stopped and goes on',
    scenario: { requests: [request('plain'), request('plain', 1)], passes: [pass('sweeper')], faults: { freezes: 1 } },
  },
  {
    name: 'a call against a holder that was stopped and goes on',
    scenario: { requests: [request('letters'), request('letters', 1)], faults: { freezes: 1 } },
  },
  {
    name: 'a call whose end is written down too late for its holder to hear',
    scenario: { requests: [request('transfers')], faults: { freezes: 1, lateness: 1 } },
  },
  {
    name: 'a request against an operator, one crash',
    scenario: { requests: [request('letters')], operators: 1, faults: { crashes: 1 } },
  },
  {
    name: 'a phased operation, two crashes',
    scenario: { requests: [{ program: 'rides', order, nodes: [0, 0, 0] }], faults: { crashes: 2 } },
  },
  {
    name: 'an effect whose reply is lost against its reconciler',
    scenario: {
      requests: [request('sales')],
      passes: [pass('effects', 0), pass('effectReconciler')],
      faults: { breaks: 1 },
    },
  },
  {
    name: 'the effect worker, two crashes',
    scenario: { requests: [request('sales')], passes: [pass('effects', 0), pass('effects')], faults: { crashes: 2 } },
  },
]
