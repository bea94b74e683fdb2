import { type Case, late, order, pass, request, soon } from './case.js'

const denied = { ...request('transfers'), order: { ...order, mood: 'denies' as const } }

const unconcerned = { ...request('letters'), order: { ...order, needsNoResult: true as const } }

/** Somebody says that something landed, and not with what. */
export const curt: readonly Case[] = [
  {
    name: 'a request against a webhook that tells of its call, and not what it gave, one crash',
    scenario: {
      requests: [request('letters')],
      passes: [pass('sweeper', late)],
      deliveries: 1,
      curt: 'webhooks',
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that was swept', 'a call that landed, and nobody said with what'],
  },
  {
    name: 'a request that needs nothing of what its call gives against a webhook that does not say it, one crash',
    scenario: {
      requests: [unconcerned],
      passes: [pass('sweeper', late), pass('resumer', 45_000)],
      deliveries: 1,
      curt: 'webhooks',
      faults: { crashes: 1 },
    },
    reaches: ['a doubt that a webhook ended', 'a call of which it was enough that it landed'],
  },
  {
    name: 'a call whose reply is lost against an operator who does not say what it gave, and the reconciler',
    scenario: {
      requests: [request('transfers')],
      passes: [pass('reconciler', 20_000), pass('reconciler', 45_000)],
      operators: 1,
      operatorsAfterMs: 20_000,
      curt: 'operators',
      faults: { breaks: 1 },
    },
    reaches: ['a doubt that the reconciler ended'],
  },
  {
    name: 'a call whose provider denies what he has told of, and not what it gave, against its reconciler and a retry',
    scenario: {
      requests: [denied, { ...denied, nodes: [2], afterMs: 16_000 }],
      passes: [pass('reconciler', 14_000), pass('reconciler', 32_000)],
      deliveries: 1,
      deliveriesAfterMs: 15_000,
      curt: 'webhooks',
      faults: { breaks: 1 },
    },
    reaches: [
      'a call that had not landed',
      'a call that landed, and nobody said with what',
      'a lookup that contradicts what was said',
    ],
  },
  {
    name: 'an effect whose provider denies what he has told of, and not what it gave, against its reconciler and another worker',
    scenario: {
      requests: [{ ...request('sales'), order: { ...order, mood: 'denies' as const } }],
      passes: [
        soon('effects'),
        pass('effectReconciler', 14_000),
        pass('effects', 16_000, 2),
        pass('effectReconciler', 32_000),
      ],
      deliveries: 1,
      deliveriesAfterMs: 15_000,
      curt: 'webhooks',
      faults: { breaks: 1 },
    },
    reaches: ['an effect in doubt', 'an effect that landed, and nobody said with what'],
  },
]
