import type { Program } from '../application.js'
import { type Case, hour, late, nearlyADay, order, pass, request, soon } from './case.js'

/** A request, and its retry in the moment in which the sweeper comes. */
const retriedAndSwept = (program: Program, afterMs: number) => ({
  requests: [request(program), request(program, 1, afterMs)],
  passes: [pass('sweeper', afterMs)],
})

const denied = { ...request('transfers'), order: { ...order, mood: 'denies' as const } }

/** Requests that were interrupted, or are slow, and all who come to their help. */
export const interrupted: readonly Case[] = [
  {
    name: 'a retry against the sweeper, one crash',
    scenario: { ...retriedAndSwept('plain', late), faults: { crashes: 1, haste: 1 } },
    reaches: ['a doubt that was swept'],
  },
  {
    name: 'a slow holder that lives, and has renewed its lease, against the sweeper and a retry',
    scenario: { ...retriedAndSwept('plain', late), faults: { lateness: 1, haste: 1 } },
    reaches: ['a replay'],
  },
  {
    name: 'a write that lands when its lease is over against the sweeper and a retry',
    scenario: { ...retriedAndSwept('plain', late), faults: { drifts: 1, haste: 1 } },
    reaches: ['a doubt', 'a replay'],
  },
  {
    name: 'a call, or a write about it, that lands when its lease is over against the sweeper and a retry',
    scenario: { ...retriedAndSwept('transfers', late), faults: { drifts: 1 } },
    reaches: ['a doubt', 'a replay', 'a key that was claimed again'],
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
    name: 'a retry that comes when the key of its call is nearly forgotten, one crash, one request that is slow',
    scenario: {
      requests: [request('rides'), request('rides', 2, nearlyADay)],
      faults: { crashes: 1, drifts: 1 },
    },
    reaches: ['a key that was claimed again', 'a doubt'],
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
    name: 'a call that arrives at the last moment, which its lookup does not show yet, against the reconciler and a retry',
    scenario: {
      requests: [request('transfers'), request('transfers', 1, 11_000)],
      passes: [pass('reconciler', 11_000, 2)],
      faults: { drifts: 1 },
    },
    reaches: ['a doubt', 'a doubt that the reconciler ended'],
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
      requests: [request('letters')],
      passes: [pass('sweeper', late)],
      deliveries: 1,
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that a webhook ended'],
  },
  {
    name: 'a request and its duplicate against a webhook that tells of its call',
    scenario: { requests: [request('letters'), request('letters', 1)], deliveries: 1, faults: {} },
    reaches: ['a replay'],
  },
  {
    name: 'a request against a webhook that is told again at another node, one broken line',
    scenario: {
      requests: [request('letters')],
      deliveries: 1,
      deliveriesAfterMs: 2,
      deliveredAt: [0, 1],
      faults: { breaks: 1 },
    },
    reaches: [],
  },
  {
    name: 'a retry against a webhook that tells of its call and the sweeper, one crash',
    scenario: { ...retriedAndSwept('letters', late), deliveries: 1, deliveriesAfterMs: late, faults: { crashes: 1 } },
    reaches: ['a doubt that was swept', 'a doubt that a webhook ended', 'a key that was claimed again'],
  },
  {
    name: 'a holder that was stopped and goes on against the sweeper and a retry',
    scenario: { ...retriedAndSwept('plain', late), faults: { freezes: 1 } },
    reaches: ['a doubt that was swept', 'a doubt that its holder ended'],
  },
  {
    name: 'a holder that was stopped against the sweeper and a retry that come in the moment in which it goes on',
    scenario: { ...retriedAndSwept('plain', 60_000), faults: { freezes: 1, haste: 1 } },
    reaches: ['a doubt that was swept', 'a doubt that its holder ended'],
  },
  {
    name: 'a holder that was stopped and goes on against the sweeper and an operator who answers for it',
    scenario: {
      requests: [request('plain', 1)],
      passes: [pass('sweeper', late, 0)],
      operators: 1,
      operatorsAfterMs: late,
      faults: { freezes: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that an operator ended', 'a doubt that its holder ended'],
  },
  {
    name: 'a reservation that nobody hears of against the sweeper, two lines broken',
    scenario: {
      requests: [request('plain')],
      passes: [pass('sweeper', late)],
      faults: { breaks: 1, drifts: 1, haste: 2 },
    },
    reaches: [],
  },
  {
    name: 'a holder that was stopped until its answer expired against one that uses its key anew',
    scenario: {
      requests: [request('transfers'), request('transfers', 1)],
      pauses: [25 * hour],
      faults: { freezes: 1 },
    },
    reaches: ['a key that was used anew'],
  },
  {
    name: 'a holder that was stopped while an operator answered for it, and its key was used anew',
    scenario: {
      requests: [request('plain'), request('plain', 1, 50_000)],
      passes: [pass('sweeper', late)],
      operators: 1,
      operatorsAfterMs: 45_000,
      operatorsAt: 1,
      pauses: [25 * hour],
      pausesAfterMs: 50_000,
      faults: { freezes: 1 },
    },
    reaches: ['a doubt that an operator ended', 'a key that was used anew'],
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
    name: 'a reconciler that was stopped when it had read what was said against a webhook that nobody acts on',
    scenario: {
      requests: [request('letters')],
      passes: [pass('reconciler', 45_000, 2)],
      deliveries: 1,
      deliveriesAfterMs: 60_000,
      faults: { breaks: 2, freezes: 1 },
    },
    reaches: ['a doubt that was left to an operator', 'a doubt that a webhook ended'],
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
    name: 'a handler that makes its call by itself, with a key of ours, against two retries, two crashes',
    scenario: {
      requests: [request('deposits'), request('deposits', 1, late), request('deposits', 2, 2 * late)],
      faults: { crashes: 2 },
    },
    reaches: ['a key that was claimed again', 'a replay'],
  },
  {
    name: 'a handler that may run again, and whose client comes back late, against the reaper, one crash',
    scenario: {
      requests: [request('deposits'), request('deposits', 1, 25 * hour)],
      passes: [pass('reaper', 25 * hour, 2)],
      faults: { crashes: 1 },
    },
    reaches: ['work that nobody came back for', 'a key that was claimed again'],
  },
  {
    name: 'a handler that may run again against a reaper that comes early, and a retry, one crash',
    scenario: {
      requests: [request('deposits'), request('deposits', 1, late)],
      passes: [pass('reaper', late, 2)],
      faults: { crashes: 1 },
    },
    reaches: ['a key that was claimed again'],
  },
  {
    name: 'a handler that may run again, and whose client never comes back, one crash',
    scenario: {
      requests: [{ ...request('deposits'), order: { ...order, isKeyless: true } }],
      faults: { crashes: 1 },
    },
    reaches: [],
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
    name: 'a phased operation against resumer and sweeper, two crashes',
    scenario: {
      requests: [request('rides'), request('rides', 2, 2 * late)],
      passes: [pass('resumer', late), pass('sweeper', late)],
      faults: { crashes: 2 },
    },
    reaches: ['a key that was claimed again', 'a replay'],
  },
  {
    name: 'a call whose provider only has a lookup against the sweeper and a retry, two crashes',
    scenario: { ...retriedAndSwept('transfers', late), faults: { crashes: 2 } },
    reaches: ['a doubt that was swept', 'a key that was claimed again'],
  },
  {
    name: 'a call whose provider has neither against the sweeper and a retry, two crashes',
    scenario: { ...retriedAndSwept('letters', late), faults: { crashes: 2 } },
    reaches: ['a doubt that was swept', 'a key that was claimed again'],
  },
  {
    name: 'a phased operation against two retries at once, one crash',
    scenario: {
      requests: [request('rides'), request('rides', 1, late), request('rides', 2, late)],
      faults: { crashes: 1 },
    },
    reaches: ['a key that was claimed again', 'a replay'],
  },
  {
    name: 'a call whose reply is late, and about which nobody can be asked, against its reconciler',
    scenario: {
      requests: [request('letters')],
      passes: [pass('reconciler', 13_000)],
      faults: { lateness: 1 },
    },
    reaches: ['a doubt that was left to an operator'],
  },
  {
    name: 'a call whose provider cannot say for a while what became of it, one broken line',
    scenario: {
      requests: [{ ...request('transfers'), order: { ...order, mood: 'cannot say' as const } }],
      passes: [pass('reconciler', 20_000), pass('reconciler', 45_000)],
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that the reconciler ended'],
  },
  {
    name: 'a call that was swept and looked at while an event about it was on its way to the database, and its node crashed',
    scenario: {
      requests: [request('letters')],
      passes: [pass('sweeper', 46_000), pass('reconciler', 60_000)],
      deliveries: 1,
      deliveriesAfterMs: 45_000,
      faults: { crashes: 2, lateness: 1 },
    },
    reaches: ['a doubt that was swept', 'a doubt that a webhook ended'],
  },
  {
    name: 'a call without a key whose provider denies what he has done, against its reconciler',
    scenario: {
      requests: [{ ...denied, order: { ...denied.order, isKeyless: true } }],
      passes: [pass('reconciler', late)],
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that the reconciler ended', 'a call that had not landed'],
  },
  {
    name: 'a call whose provider denies for a while what he tells of later, against its reconciler and a retry',
    scenario: {
      requests: [denied, { ...denied, nodes: [2], afterMs: 60_000 }],
      passes: [pass('reconciler', 20_000)],
      deliveries: 1,
      deliveriesAfterMs: 30_000,
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that the reconciler ended', 'a call that had not landed', 'a replay'],
  },
  {
    name: 'a call whose reply is lost against a reconciler that works by itself, two broken lines',
    scenario: {
      requests: [request('transfers')],
      loops: { workers: ['reconciler'], forMs: 15_000 },
      faults: { breaks: 2 },
    },
    reaches: ['a worker whose pass failed, and that goes on', 'a doubt that the reconciler ended'],
  },
]
