import type { LookedUp } from 'hapax'
import { type ProviderCall, providerAt } from './provider.js'

/** Pays out what a customer withdraws. It honours keys of up to 40 characters for a day. */
export interface Bank {
  withdraw(order: WithdrawalOrder, call: Omit<ProviderCall, 'body'>): Promise<Payout>
  find(key: string): Promise<LookedUp<Payout>>
}

export interface WithdrawalOrder {
  /** In the smallest unit of the currency. */
  readonly amount: number
  readonly currency: string
  readonly customer: string
  readonly description: string
  /** Our own id of it. */
  readonly reference: string
}

export type Payout = { readonly status: 'completed'; readonly id: string } | { readonly status: 'declined' }

/** For how long it promises to know a key. */
export const bankHonoursKeyFor = '24h'

export function bankAt(url: string): Bank {
  const provider = providerAt(url, 'bank')
  return {
    async withdraw(order, call) {
      const answer = await provider.ask('/withdrawals', { ...call, body: { ...order } })
      return answer.kind === 'declined' ? { status: 'declined' } : { status: 'completed', id: answer.object.id }
    },
    async find(key) {
      const payout = await provider.find(key)
      return payout === undefined ? { landed: false } : { landed: true, result: { status: 'completed', id: payout.id } }
    },
  }
}
