import type { Program } from '../application.js'
import type { Misspelling } from '../misspelt.js'
import { type Case, hour, late, order, pass, request, unordered } from './case.js'

const keyless = (program: Program) => ({ ...request(program), order: { ...order, isKeyless: true as const } })
const misspelt = (how: Misspelling) => ({ ...request('plain'), order: { ...order, misspelt: how } })
const declined = (program: Program, node = 0) => ({ ...request(program, node), order: { ...order, amount: -1 } })
/** At one node: the first goes alone, and the others go together. */
const threeTogether = [request('plain'), request('plain'), { ...request('plain'), order: { ...order, key: 'k2' } }]

/** Requests that meet each other, or the reaper. */
export const requests: readonly Case[] = [
  {
    name: 'two requests, one crash, one ambiguous commit',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { crashes: 1, breaks: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests as phased operations, one crash, one ambiguous commit',
    scenario: { requests: [request('rides'), request('rides', 1)], faults: { crashes: 1, breaks: 1 } },
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
    name: 'two requests as one transaction each, which is declined, one of them stopped until its answer expired',
    scenario: { requests: [declined('sales'), declined('sales', 1)], pauses: [25 * hour], faults: { freezes: 1 } },
    reaches: ['a key that was used anew'],
  },
  {
    name: 'another request under a key whose answer has expired, one crash',
    scenario: {
      requests: [request('plain'), { ...request('plain', 1, 25 * hour), order: { ...order, amount: 2 } }],
      faults: { crashes: 1 },
    },
    reaches: ['a key that was used anew'],
  },
  {
    name: 'two requests, one write that lands after its line broke',
    scenario: { requests: [request('plain'), request('plain', 1)], faults: { drifts: 1, haste: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'two requests as one transaction each, one commit that lands after its line broke',
    scenario: { requests: [request('sales'), request('sales', 1)], faults: { drifts: 1, haste: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'a phased operation, one commit that lands after its line broke, one crash',
    scenario: { requests: [request('rides'), request('rides', 1, 45_000)], faults: { drifts: 1, crashes: 1 } },
    reaches: ['a replay', 'a key that was claimed again'],
  },
  {
    name: 'a phased operation, one commit that lands after its line broke, in the moment in which a retry comes',
    scenario: { requests: [request('rides'), request('rides', 1, late)], faults: { drifts: 1 } },
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
    name: 'a request, another one under its key, and one under another key, in group commits',
    scenario: {
      requests: [
        request('plain'),
        { ...request('plain'), order: { ...order, amount: 2 } },
        { ...request('plain'), order: { ...order, key: 'k2', amount: 2 } },
      ],
      lanes: 1,
      faults: {},
    },
    reaches: ['a statement for several requests'],
  },
  {
    name: 'a request that waits for a lane for too long, since its process is stopped, in group commits',
    scenario: {
      requests: [request('plain'), { ...request('plain'), order: { ...order, key: 'k2' } }],
      lanes: 1,
      faults: { freezes: 1 },
    },
    reaches: ['a request that was sent away'],
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
      requests: [
        { ...request('sales'), order: unordered },
        { ...request('sales', 1, 25 * hour), order: unordered },
      ],
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
]
