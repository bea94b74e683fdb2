import type { WorkerName } from '../../src/workers/services.js'
import type { Program } from './application.js'
import type { Misspelling } from './misspelt.js'
import type { Feature } from './reached.js'
import type { Scenario } from './scenario.js'

/** A small scenario of which every schedule is run. */
export interface Case {
  readonly name: string
  readonly scenario: Scenario
  /** What it is about: if no schedule of it gets there while something can go wrong, it shows nothing, and fails. */
  readonly reaches: readonly Feature[]
}

const hour = 3_600_000
/** When the lease of whoever crashed at the start is over, and so what it left behind is found. */
const late = 31_000
const order = { tenant: 'acme', key: 'k1', amount: 1, item: 'boat' }
const request = (program: Program, node = 0, afterMs?: number) => ({
  ...{ program, order, nodes: [node] },
  ...(afterMs !== undefined && { afterMs }),
})
const keyless = (program: Program) => ({ ...request(program), order: { ...order, isKeyless: true as const } })
const misspelt = (how: Misspelling) => ({ ...request('plain'), order: { ...order, misspelt: how } })
const declined = (program: Program, node = 0) => ({ ...request(program, node), order: { ...order, amount: -1 } })
const pass = (worker: WorkerName, afterMs: number, node = 1) => ({ worker, node, afterMs })
/** Once there is nothing else to do: who carries out what a request has written has nothing to do before. */
const soon = (worker: WorkerName, node = 1) => pass(worker, 1, node)
/** At one node: the first goes alone, and the others go together. */
const threeTogether = [request('plain'), request('plain'), { ...request('plain'), order: { ...order, key: 'k2' } }]

export const cases: readonly Case[] = [
  {
    name: 'two requests, one crash, one ambiguous commit',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { crashes: 1, breaks: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests as one transaction each, one crash, one ambiguous commit',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { crashes: 1, breaks: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests as one transaction each, which is declined when it has written, one crash, one ambiguous commit',
    scenario: { requests: [declined('sales'), declined('sales', 1)], faults: { crashes: 1, breaks: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests, one write that lands after its line broke',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { drifts: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests as one transaction each, one commit that lands after its line broke',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { drifts: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'a phased operation, one commit that lands after its line broke, one crash',
    scenario: { requests: [request('rides'), request('rides', 1, late)], faults: { drifts: 1, crashes: 1 } },
    reaches: ['a replay', 'a key that was claimed again'],
  },
  {
    name: 'two requests as one transaction each, two cancelled statements',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { cancels: 2 } },
    reaches: ['a replay'],
  },
  {
    name: 'a phased operation against its retry, two cancelled statements',
    scenario: { requests: [request('rides'), request('rides', 1)], faults: { cancels: 2 } },
    reaches: ['a replay', 'a key that was claimed again'],
  },
  {
    name: 'three requests with two keys in group commits, one crash',
    scenario: { requests: threeTogether, lanes: 1, faults: { crashes: 1 } },
    reaches: ['a statement for several requests'],
  },
  {
    name: 'three requests with two keys in group commits, one cancelled statement',
    scenario: { requests: threeTogether, lanes: 1, faults: { cancels: 1 } },
    reaches: ['a statement for several requests', 'a replay'],
  },
  {
    name: 'a request and another one under its key, one crash',
    scenario: {
      requests: [request('plain'), { ...request('plain', 1), order: { ...order, amount: 2 } }],
      faults: { crashes: 1 },
    },
    reaches: [],
  },
  {
    name: 'two tenants with one key at one node, one crash',
    scenario: {
      requests: [request('plain'), { ...request('plain'), order: { ...order, tenant: 'globex' } }],
      faults: { crashes: 1 },
    },
    reaches: [],
  },
  {
    name: 'two tenants with one key, and a duplicate that waits for its answer, at one node, one crash',
    scenario: {
      requests: [request('plain'), request('plain'), { ...request('plain'), order: { ...order, tenant: 'globex' } }],
      concurrency: 'wait',
      faults: { crashes: 1 },
    },
    reaches: ['an answer that was waited for'],
  },
  {
    name: 'calls of two tenants with one key',
    scenario: {
      requests: [request('letters'), { ...request('letters', 1), order: { ...order, tenant: 'globex' } }],
      faults: {},
    },
    reaches: [],
  },
  {
    name: 'two requests without a key at one node, one crash',
    scenario: { requests: [keyless('plain'), keyless('plain')], faults: { crashes: 1 } },
    reaches: [],
  },
  {
    name: 'a request without a key, one crash, one ambiguous commit',
    scenario: {
      requests: [keyless('rides')],
      passes: [pass('resumer', late)],
      faults: { crashes: 1, breaks: 1 },
    },
    reaches: ['a key that was claimed again'],
  },
  {
    name: 'a request, and two at its node whose keys are misspelt, one crash',
    scenario: { requests: [request('plain'), misspelt('twice'), misspelt('spaced')], faults: { crashes: 1 } },
    reaches: ['a key that was malformed'],
  },
  {
    name: 'a late retry against the reaper that buries its key, one crash',
    scenario: {
      requests: [request('plain'), request('plain', 1, 25 * hour)],
      passes: [pass('reaper', 25 * hour)],
      faults: { crashes: 1 },
    },
    reaches: ['a tombstone'],
  },
  {
    name: 'a late retry against the reaper that forgets its tombstone',
    scenario: {
      requests: [request('plain'), request('plain', 1, 32 * 24 * hour)],
      passes: [pass('reaper', 25 * hour), pass('reaper', 32 * 24 * hour)],
      faults: {},
    },
    reaches: ['a tombstone', 'a tombstone that was forgotten'],
  },
  {
    name: 'the reaper against a record whose effect is open, one crash',
    scenario: {
      requests: [request('sales')],
      passes: [pass('reaper', 25 * hour), pass('effects', 25 * hour, 2)],
      faults: { crashes: 1 },
    },
    reaches: ['a record with open effects that met the reaper', 'a tombstone', 'an effect that was done'],
  },
  {
    name: 'a late retry against the reaper and the effect of its record',
    scenario: {
      requests: [request('sales'), request('sales', 1, 25 * hour)],
      passes: [pass('reaper', 25 * hour), pass('effects', 25 * hour, 2)],
      faults: {},
    },
    reaches: ['a record with open effects that met the reaper', 'a tombstone', 'a replay'],
  },
  {
    name: 'the reaper against half-done work, one broken line',
    scenario: { requests: [request('rides')], passes: [pass('reaper', 25 * hour)], faults: { breaks: 1 } },
    reaches: ['half-done work that met the reaper'],
  },
  {
    name: 'three requests, one crash',
    scenario: { requests: [request('plain'), request('plain', 1), request('plain', 2)], faults: { crashes: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'a retry against the sweeper, one crash',
    scenario: {
      requests: [request('plain'), request('plain', 1, late)],
      passes: [pass('sweeper', late)],
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that was swept'],
  },
  {
    name: 'a retry against the resumer, one crash',
    scenario: {
      requests: [request('rides'), request('rides', 2, late)],
      passes: [pass('resumer', late)],
      faults: { crashes: 1 },
    },
    reaches: ['a key that was claimed again', 'a replay'],
  },
  {
    name: 'a call that was interrupted against sweeper and reconciler, one crash',
    scenario: {
      requests: [request('transfers'), request('transfers', 2, 60_000)],
      passes: [pass('sweeper', late), pass('reconciler', 60_000)],
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that the reconciler ended', 'a call that had not landed'],
  },
  {
    name: 'a call whose reply is lost against the reconciler',
    scenario: {
      requests: [request('transfers')],
      passes: [soon('reconciler'), pass('reconciler', 15_000)],
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that the reconciler ended', 'a call that had not landed'],
  },
  {
    name: 'a call that lands after its line broke against the reconciler, where one clock jumps',
    scenario: { requests: [request('transfers')], passes: [soon('reconciler')], faults: { drifts: 1, jumps: 1 } },
    reaches: ['a doubt'],
  },
  {
    name: 'a call that lands after its line broke against an operator who looks too early, and a retry',
    scenario: {
      requests: [request('transfers'), request('transfers', 1, 1)],
      operators: 1,
      faults: { drifts: 1 },
    },
    reaches: ['a doubt', 'a doubt that an operator ended'],
  },
  {
    name: 'a request against a webhook that tells of its call, one crash',
    scenario: {
      requests: [request('letters'), request('letters', 1, 45_000)],
      passes: [pass('sweeper', late)],
      deliveries: 1,
      deliveriesAfterMs: late,
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that a webhook ended'],
  },
  {
    name: 'a holder that was stopped and goes on against the sweeper and a retry',
    scenario: {
      requests: [request('plain'), request('plain', 1, late)],
      passes: [pass('sweeper', late)],
      faults: { freezes: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that its holder ended'],
  },
  {
    name: 'a reservation that nobody hears of against the sweeper, two lines broken',
    scenario: { requests: [request('plain')], passes: [pass('sweeper', late)], faults: { breaks: 1, drifts: 1 } },
    reaches: [],
  },
  {
    name: 'a holder that was stopped until its answer expired against one that uses its key anew',
    scenario: {
      requests: [request('transfers'), request('transfers', 1)],
      pauses: [25 * hour],
      faults: { freezes: 1 },
    },
    reaches: [],
  },
  {
    name: 'a call against a holder that was stopped and goes on',
    scenario: { requests: [request('letters'), request('letters', 1, late)], faults: { freezes: 1 } },
    reaches: ['a doubt'],
  },
  {
    name: 'a call that was begun, and whose holder was stopped, against sweeper, reconciler and resumer',
    scenario: {
      requests: [request('transfers')],
      passes: [pass('sweeper', late), pass('reconciler', 45_000), pass('resumer', 50_000, 2)],
      faults: { freezes: 1 },
    },
    reaches: ['a doubt that was swept', 'a call that had not landed', 'a key that was claimed again'],
  },
  {
    name: 'a call that was begun twice, and whose holders were stopped or crashed, against a retry when its key is forgotten',
    scenario: {
      requests: [request('rides'), request('rides', 1, late), request('rides', 2, 25 * hour)],
      faults: { crashes: 1, freezes: 1 },
    },
    reaches: ['a key that was claimed again', 'a doubt'],
  },
  {
    name: 'a call whose end is written down too late for its holder to hear',
    scenario: { requests: [request('transfers')], faults: { freezes: 1, lateness: 1 } },
    reaches: [],
  },
  {
    name: 'a request against an operator, one crash',
    scenario: {
      requests: [request('letters'), request('letters', 1, 45_000)],
      operators: 1,
      operatorsAfterMs: 45_000,
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that an operator ended'],
  },
  {
    name: 'a doubt about a call against the reconciler and an operator at once',
    scenario: {
      requests: [request('letters')],
      passes: [pass('reconciler', 45_000)],
      operators: 1,
      operatorsAfterMs: 45_000,
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that was left to an operator', 'a doubt that an operator ended'],
  },
  {
    name: 'a reconciler that was stopped when it had asked against an operator and a retry that is in doubt again',
    scenario: {
      requests: [request('transfers'), request('transfers', 1, 50_000)],
      passes: [pass('reconciler', 20_000, 2)],
      operators: 1,
      operatorsAfterMs: 45_000,
      faults: { breaks: 2, freezes: 1 },
    },
    reaches: ['a doubt that an operator ended', 'a key that was claimed again'],
  },
  {
    name: 'a phased operation, two crashes',
    scenario: {
      requests: [request('rides'), request('rides', 1, late), request('rides', 2, 2 * late)],
      faults: { crashes: 2 },
    },
    reaches: ['a key that was claimed again', 'a replay'],
  },
  {
    name: 'an effect whose reply is lost against its reconciler',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), pass('effectReconciler', 2), pass('effectReconciler', 20_000)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended'],
  },
  {
    name: 'the effect worker against one that was stopped and goes on',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects'), pass('effects', 45_000, 2)],
      faults: { freezes: 2 },
    },
    reaches: ['an effect that was claimed again'],
  },
  {
    name: 'the effect worker, whose provider knows no keys, against one that was stopped and goes on',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), pass('effects', 45_000, 2)],
      faults: { freezes: 2 },
    },
    reaches: ['an effect that was claimed again', 'an effect in doubt'],
  },
  {
    name: 'the effect worker against one that comes when the key is forgotten, one crash',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects'), pass('effects', 25 * hour, 2)],
      faults: { crashes: 1 },
    },
    reaches: ['an effect in doubt'],
  },
  {
    name: 'the effect worker, two crashes',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects', 0), pass('effects', 45_000), pass('effectReconciler', 90_000, 2)],
      faults: { crashes: 2 },
    },
    reaches: ['an effect that was claimed again', 'an effect in doubt', 'an effect whose doubt was ended'],
  },
]
