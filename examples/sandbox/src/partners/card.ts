import type { LookedUp } from 'hapax'
import { type Provider, type ProviderCall, providerAt } from './provider.js'

/** The card processor. It honours keys for a day: the same key is the same charge. */
export interface Card {
  charge(order: ChargeOrder, call: ChargeCall): Promise<Charge>
  find(key: string): Promise<LookedUp<Charge>>
}

/** What Hapax gives to a call. */
export interface ChargeCall extends Omit<ProviderCall, 'body'> {
  readonly attempt: number
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

/** What a person says that it answered may be anything. */
export function isCharge(result: unknown): result is Charge {
  const { status, id, message } = (result ?? {}) as { status?: unknown; id?: unknown; message?: unknown }
  return status === 'succeeded' ? typeof id === 'string' : status === 'declined' && typeof message === 'string'
}

/** For how long it promises to know a key. */
export const cardHonoursKeyFor = '24h'

export function cardAt(url: string): Card {
  const provider: Provider = providerAt(url, 'card')

  async function find(key: string): Promise<LookedUp<Charge>> {
    const charge = await provider.find(key)
    return charge === undefined ? { landed: false } : { landed: true, result: { status: 'succeeded', id: charge.id } }
  }

  return {
    async charge(order, { key, signal, attempt }) {
      // It promises to know the key. Who charges money asks all the same, before he asks for it again.
      const before = attempt > 1 ? await find(key) : undefined
      if (before?.landed === true) return before.result
      const answer = await provider.ask('/charges', { key, signal, body: { ...order } })
      if (answer.kind === 'declined') return { status: 'declined', message: answer.message }
      return { status: 'succeeded', id: answer.object.id }
    },
    find,
  }
}
