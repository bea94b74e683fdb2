import { effects } from '../../src/effects/effects.js'
import type { EffectAbout, EffectCall, EffectDefinition, Effects } from '../../src/engine/effect-definition.js'
import type { StoredEffect } from '../../src/engine/effect-store.js'
import { type Order, type Program, type ProgramContext, services, timeout, timeoutMs } from './application.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import { type Mood, meaningOf, tried } from './moods.js'
import type { Service } from './provider.js'

export type EffectKindName = 'receipt.send' | 'shipment.book' | 'shipment.urge' | 'shipment.mail'

/** What an effect is given, as it stands in its row. */
export interface Shipped {
  readonly subject: string
  readonly item?: string
  readonly mood?: Mood
}

/** What it is wanted for. */
export function subjectIn({ payload }: Pick<StoredEffect, 'payload'>): string {
  return (JSON.parse(Buffer.from(payload).toString()) as Shipped).subject
}

/** Who ships something is asked in one of these ways: as he always is, or as one who does not always do it, or who cannot be asked. */
export function shippingOf({ mood }: Order): Exclude<EffectKindName, 'receipt.send'> {
  if (mood === undefined) return 'shipment.book'
  return mood === 'cannot be asked' ? 'shipment.mail' : 'shipment.urge'
}

/** The effects that these requests may lead to: a node knows no others, since each takes its time to define. */
export function effectKindsOf(
  requests: readonly { readonly program: Program; readonly order: Order }[],
): ReadonlySet<EffectKindName> {
  const kinds = new Set<EffectKindName>()
  for (const { program, order } of requests) {
    if (program === 'rides') kinds.add('receipt.send')
    if (program === 'sales') kinds.add(shippingOf(order))
  }
  return kinds
}

export function effectsOf(around: ProgramContext, kinds: ReadonlySet<EffectKindName>): Effects<unknown, SimulatedTx> {
  const chosen: Record<string, Definition> = {}
  for (const kind of kinds) chosen[kind] = defining[kind](around)
  return effects<Record<string, Shipped>, Record<string, { readonly id: string }>, SimulatedTx>(chosen)
}

type Definition = EffectDefinition<Shipped, { readonly id: string }, SimulatedTx>

const defining: Readonly<Record<EffectKindName, (around: ProgramContext) => Definition>> = {
  'receipt.send': (around) => ({ call: acting(around, services.receipt), honoursKeyFor: '24h', timeout }),
  'shipment.book': (around) => ({ ...shipping(around), ...lookedUp(around) }),
  'shipment.urge': (around) => ({
    ...shipping(around),
    ...lookedUp(around),
    classify: meaningOf,
    retry: { within: tried },
  }),
  'shipment.mail': (around) => shipping(around),
}

function acting({ process, provider }: ProgramContext, service: Service): Definition['call'] {
  return ({ payload: { subject, mood }, key }: EffectCall<Shipped>) =>
    provider.act(process, { service, key, subject, timeoutMs, mood })
}

function shipping(around: ProgramContext): Definition {
  return {
    call: acting(around, services.shipment),
    // What follows from it needs what it gave: without that it is something else.
    apply: (tx: SimulatedTx, given: unknown, { payload }: EffectAbout<Shipped>) =>
      tx.insert(given === undefined ? 'unproven' : 'shipped', payload.subject),
    orderBy: ({ item }: Shipped) => item,
    timeout,
  }
}

function lookedUp({ process, provider }: ProgramContext): Pick<Definition, 'lookup' | 'readLag'> {
  return {
    lookup: ({ key, payload: { mood } }: EffectAbout<Shipped>) =>
      provider.find(process, { service: services.shipment, key, mood }),
    readLag: '2s',
  }
}
