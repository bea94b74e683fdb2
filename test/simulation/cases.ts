import type { WorkerName } from '../../src/workers/services.js'
import type { Program } from './application.js'
import type { Scenario } from './scenario.js'

/** A small scenario of which every schedule is run. */
export interface Case {
  readonly name: string
  readonly scenario: Scenario
}

const hour = 3_600_000
const order = { tenant: 'acme', key: 'k1', amount: 1, item: 'boat' }
const request = (program: Program, node = 0) => ({ program, order, nodes: [node] })
const pass = (worker: WorkerName, node = 1) => ({ worker, node })
/** At one node: the first goes alone, and the others go together. */
const threeTogether = [request('plain'), request('plain'), { ...request('plain'), order: { ...order, key: 'k2' } }]
/** Once there is nothing else to do: who carries out what a request has written has nothing to do before. */
const soon = (worker: WorkerName, node = 1) => ({ ...pass(worker, node), afterMs: 1 })

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
    name: 'two requests, one write that lands after its line broke',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { drifts: 1 } },
  },
  {
    name: 'two requests as one transaction each, one commit that lands after its line broke',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { drifts: 1 } },
  },
  {
    name: 'a phased operation, one commit that lands after its line broke, one crash',
    scenario: { requests: [{ program: 'rides', order, nodes: [0, 1] }], faults: { drifts: 1, crashes: 1 } },
  },
  {
    name: 'two requests as one transaction each, two cancelled statements',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { cancels: 2 } },
  },
  {
    name: 'a phased operation against its retry, two cancelled statements',
    scenario: { requests: [request('rides'), request('rides', 1)], faults: { cancels: 2 } },
  },
  {
    name: 'three requests with two keys in group commits, one crash',
    scenario: { requests: threeTogether, batching: 'on', faults: { crashes: 1 } },
  },
  {
    name: 'three requests with two keys in group commits, one cancelled statement',
    scenario: { requests: threeTogether, batching: 'on', faults: { cancels: 1 } },
  },
  {
    name: 'a request and another one under its key, one crash',
    scenario: {
      requests: [request('plain'), { ...request('plain', 1), order: { ...order, amount: 2 } }],
      faults: { crashes: 1 },
    },
  },
  {
    name: 'a request without a key, one crash, one ambiguous commit',
    scenario: {
      requests: [{ ...request('rides'), order: { ...order, isKeyless: true } }],
      faults: { crashes: 1, breaks: 1 },
    },
  },
  {
    name: 'a late retry against the reaper that buries its key',
    scenario: {
      requests: [request('plain'), { ...request('plain', 1), afterMs: 25 * hour }],
      passes: [{ ...pass('reaper'), afterMs: 25 * hour }],
      faults: {},
    },
  },
  {
    name: 'a late retry against the reaper that forgets its tombstone',
    scenario: {
      requests: [request('plain'), { ...request('plain', 1), afterMs: 32 * 24 * hour }],
      passes: [
        { ...pass('reaper'), afterMs: 25 * hour },
        { ...pass('reaper'), afterMs: 32 * 24 * hour },
      ],
      faults: {},
    },
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
    name: 'a call that lands after its line broke against the reconciler, on a database whose clock jumps ahead',
    scenario: { requests: [request('transfers')], passes: [soon('reconciler')], faults: { drifts: 1, jumps: 1 } },
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
    name: 'a holder that was stopped until its answer expired against one that uses its key anew',
    scenario: {
      requests: [request('transfers'), request('transfers', 1)],
      pauses: [25 * hour],
      faults: { freezes: 1 },
    },
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
    name: 'a doubt about a call against the reconciler and an operator at once',
    scenario: {
      requests: [request('letters')],
      passes: [{ ...pass('reconciler'), afterMs: 45_000 }],
      operators: 1,
      operatorsAfterMs: 45_000,
      faults: { breaks: 1 },
    },
  },
  {
    name: 'a phased operation, two crashes',
    scenario: { requests: [{ program: 'rides', order, nodes: [0, 0, 0] }], faults: { crashes: 2 } },
  },
  {
    name: 'an effect whose reply is lost against its reconciler',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects', 0), soon('effectReconciler')],
      faults: { breaks: 1 },
    },
  },
  {
    name: 'the effect worker against one that was stopped and goes on',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects', 0), { ...pass('effects'), afterMs: 45_000 }],
      faults: { freezes: 1 },
    },
  },
  {
    name: 'the effect worker, two crashes',
    scenario: { requests: [request('sales')], passes: [soon('effects', 0), soon('effects')], faults: { crashes: 2 } },
  },
]
