import type { Mood } from '../moods.js'
import { type Case, hour, late, nearlyADay, order, pass, request, soon, unordered } from './case.js'

/** Others sweep an effect, find out that it has not landed, and carry it out, just before whoever was stopped goes on. */
const takingOver = (afterMs: number) => [
  pass('effects', afterMs, 2),
  pass('effectReconciler', afterMs + 13_000, 2),
  pass('effects', afterMs + 14_000, 2),
]

/** Whoever ships it meets it so. */
const inMood = (mood: Mood) => ({ ...request('sales'), order: { ...order, mood } })

/** Effects, their workers and their reconciler. */
export const effects: readonly Case[] = [
  {
    name: 'two effects of one order, one crash',
    scenario: {
      requests: [request('sales'), { ...request('sales'), order: { ...order, key: 'k2' } }],
      passes: [soon('effects', 0)],
      faults: { crashes: 1 },
    },
    reaches: ['an effect that was done'],
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
    name: 'an effect that arrives at the last moment, which its lookup does not show yet, against its reconciler and a worker',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), pass('effectReconciler', 11_000), pass('effects', 11_000, 2)],
      faults: { drifts: 1 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended'],
  },
  {
    name: 'a worker that was stopped when it had begun an effect against its reconciler and another worker',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), ...takingOver(45_000)],
      faults: { freezes: 1 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended', 'an effect that was claimed again'],
  },
  {
    name: 'a worker that was stopped when it had begun an effect against others, one broken line',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), ...takingOver(45_000)],
      faults: { freezes: 1, breaks: 1 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended', 'an effect that was claimed again'],
  },
  {
    name: 'a worker that was stopped when it had begun an effect, and again when it had renewed its lease, against others',
    scenario: {
      requests: [request('sales')],
      passes: [soon('effects'), ...takingOver(105_000)],
      faults: { freezes: 2 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended', 'an effect that was claimed again'],
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
    name: 'the effect worker against one that comes when the key is nearly forgotten, one crash, one request that is slow',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects'), pass('effects', nearlyADay, 2)],
      faults: { crashes: 1, drifts: 1 },
    },
    reaches: ['an effect in doubt'],
  },
  {
    name: 'the effect worker against one that gives it back, being slow, and one that comes when the key is forgotten',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects'), pass('effects', 23 * hour, 2), pass('effects', 25 * hour, 2)],
      faults: { freezes: 1, breaks: 2 },
    },
    reaches: ['an effect that was claimed again', 'an effect in doubt'],
  },
  {
    name: 'the effect worker, two crashes',
    scenario: {
      requests: [request('sales')],
      passes: [
        soon('effects', 0),
        pass('effects', 45_000),
        pass('effects', 45_000, 2),
        pass('effectReconciler', 90_000, 2),
      ],
      faults: { crashes: 2 },
    },
    reaches: ['an effect that was claimed again', 'an effect in doubt', 'an effect whose doubt was ended'],
  },
  {
    name: 'the effect worker, whose provider honours keys, two crashes',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects', 0), pass('effects', 45_000), pass('effects', 45_000, 2)],
      faults: { crashes: 2 },
    },
    reaches: ['an effect that was claimed again'],
  },
  {
    name: 'an effect that is declined against another worker, and one behind it, one crash',
    scenario: {
      requests: [inMood('declines'), { ...request('sales', 0, 2), order: { ...order, key: 'k3' } }],
      passes: [soon('effects', 0), pass('effects', 45_000), pass('effectReconciler', 60_000)],
      faults: { crashes: 1 },
    },
    reaches: ['an effect that was declined', 'an effect in doubt'],
  },
  {
    name: 'an effect whose provider is busy for a while, and one behind it, one broken line',
    scenario: {
      requests: [inMood('is busy'), { ...request('sales', 0, 2), order: { ...order, key: 'k3' } }],
      passes: [soon('effects', 0), pass('effects', 45_000)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect that failed, and is tried again', 'an effect that was done', 'an effect in doubt'],
  },
  {
    name: 'an effect whose provider is always busy, one broken line',
    scenario: {
      requests: [inMood('is closed')],
      passes: [soon('effects'), pass('effects', 45_000), pass('effects', 6 * 60_000, 2)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect that failed, and is tried again', 'an effect that was tried for too long'],
  },
  {
    name: 'a doubt about an effect that is put off by a word that comes late against a webhook',
    scenario: {
      requests: [{ ...request('sales'), order: { ...unordered, mood: 'cannot be asked' } }],
      passes: [soon('effects'), pass('effectReconciler', 13_000)],
      deliveries: 1,
      deliveriesAfterMs: late,
      faults: { breaks: 1, drifts: 1 },
    },
    reaches: ['an effect in doubt'],
  },
  {
    name: 'an effect that is tried for the last time, and whose reply is lost',
    scenario: {
      requests: [inMood('is busy')],
      passes: [soon('effects'), pass('effects', 6 * 60_000, 2), pass('effectReconciler', 7 * 60_000)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect that failed, and is tried again', 'an effect in doubt'],
  },
  {
    name: 'an effect that ends whoever carries it out, one broken line',
    scenario: { requests: [inMood('ends who asks')], passes: [soon('effects')], faults: { breaks: 1 } },
    reaches: ['an effect that was claimed'],
  },
  {
    name: 'an effect whose provider cannot say for a while what became of it, one broken line',
    scenario: {
      requests: [inMood('cannot say')],
      passes: [soon('effects'), pass('effectReconciler', 13_000), pass('effectReconciler', 45_000)],
      faults: { breaks: 1 },
    },
    reaches: ['an effect whose provider could not say yet', 'an effect whose doubt was ended'],
  },
  {
    name: 'an effect whose reply is late, and about which nobody can be asked, against its reconciler',
    scenario: {
      requests: [inMood('cannot be asked')],
      passes: [soon('effects'), pass('effectReconciler', 13_000), pass('effectReconciler', 45_000)],
      faults: { lateness: 1 },
    },
    reaches: ['an effect in doubt that was left to an operator', 'an effect whose doubt was ended'],
  },
  {
    name: 'an effect about which nobody can be asked, whose worker was slow or stopped, against another worker and the reconciler',
    scenario: {
      requests: [inMood('cannot be asked')],
      passes: [soon('effects'), pass('effects', late, 2), pass('effectReconciler', 32_000, 2)],
      faults: { freezes: 1, jumps: 1, lateness: 1 },
    },
    reaches: ['an effect in doubt that was left to an operator', 'an effect whose doubt was ended'],
  },
  {
    name: 'an effect whose provider denies for a while what he tells of later, against its reconciler and another worker',
    scenario: {
      requests: [inMood('denies')],
      passes: [soon('effects'), pass('effectReconciler', 13_000), pass('effects', 45_000, 2)],
      deliveries: 1,
      deliveriesAfterMs: 30_000,
      faults: { breaks: 2 },
    },
    reaches: ['an effect in doubt', 'an effect whose doubt was ended', 'an effect that was claimed again'],
  },
]
