import { type Case, order, request, soon } from './case.js'

const withFee = (node = 0, afterMs?: number) => ({
  ...request('rides', node, afterMs),
  order: { ...order, hasFee: true as const },
})

const named = (name: { readonly tenant?: string; readonly key?: string }, node = 0) => ({
  ...request('plain', node),
  order: { ...order, ...name },
})

/** Whose keys they are, and what is asked for under keys of ours: what is not the same has not the same name. */
export const names: readonly Case[] = [
  {
    name: 'two keys that differ in a capital',
    scenario: { requests: [named({}), named({ key: 'K1' })], faults: {} },
    reaches: [],
  },
  {
    name: 'a tenant, and another whose name is what a scope would make of him, with one key',
    scenario: {
      requests: [named({ tenant: 'acme;principal=ann' }), named({ tenant: 'acme%3Bprincipal%3Dann' })],
      faults: {},
    },
    reaches: [],
  },
  {
    name: 'webhooks of two services that number their events alike, one crash',
    scenario: {
      requests: [request('rides')],
      passes: [soon('effects')],
      deliveries: 1,
      deliveriesAfterMs: 2,
      faults: { crashes: 1 },
    },
    reaches: ['an effect that was done'],
  },
  {
    name: 'two calls and two effects of one request, one crash',
    scenario: {
      requests: [withFee(), withFee(1, 31_000)],
      passes: [soon('effects')],
      faults: { crashes: 1 },
    },
    reaches: ['a key that was claimed again', 'an effect that was done'],
  },
]
