import { type Case, hour, pass, request, soon } from './case.js'

/** Others sweep an effect, find out that it has not landed, and carry it out, just before whoever was stopped goes on. */
const takingOver = (afterMs: number) => [
  pass('effects', afterMs, 2),
  pass('effectReconciler', afterMs + 13_000, 2),
  pass('effects', afterMs + 14_000, 2),
]

/** Effects, their workers and their reconciler. */
export const effects: readonly Case[] = [
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
]
