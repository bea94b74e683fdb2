import type { LookedUp } from 'hapax'
import { type Provider, type ProviderCall, providerAt } from './provider.js'

/** The card processor. It honours keys for a day: the same key is the same charge. */
export interface Card {
  charge(order: ChargeOrder, call: Omit<ProviderCall, 'body'>): Promise<Charge>
  find(key: string): Promise<LookedUp<Charge>>
}

export interface ChargeOrder {
  readonly amountCents: number
  readonly currency: string
  /** What is paid for: our own id of it. */
  readonly reference: string
}

export type Charge =
  | { readonly status: 'succeeded'; readonly id: string }
  | { readonly status: 'declined'; readonly message: string }

/** For how long it promises to know a key. */
export const cardHonoursKeyFor = '24h'

export function cardAt(url: string): Card {
  const provider: Provider = providerAt(url, 'card')
  return {
    async charge(order, call) {
      const answer = await provider.ask('/charges', { ...call, body: { ...order } })
      if (answer.kind === 'declined') return { status: 'declined', message: answer.message }
      return { status: 'succeeded', id: answer.object.id }
    },
    async find(key) {
      const charge = await provider.find(key)
      return charge === undefined ? { landed: false } : { landed: true, result: { status: 'succeeded', id: charge.id } }
    },
  }
}
