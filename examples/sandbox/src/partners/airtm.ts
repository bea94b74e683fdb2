import type { CallOptions } from 'hapax'
import type { Settings } from '../settings.js'
import { patienceOf } from './patience.js'
import { meaningOf, type ProviderObject, providerAt, refused } from './provider.js'

export interface Payin {
  readonly id: string
  readonly confirmation_uri: string
}

export interface Payout {
  readonly id: string
}

export interface Money {
  readonly amount: string
  readonly currency: string
  /** Our own id, by which its webhooks are understood before its answer is there. */
  readonly reference: string
}

/** Told the key that is about to be sent. */
type Before = (key: string) => Promise<unknown>

export type Airtm = ReturnType<typeof airtmAt>

/**
 * The calls to Airtm, which does not honour keys: the same call again would be another payment. So a call whose answer was
 * lost is in doubt, until the lookup, a webhook or a person says what became of it.
 */
export function airtmAt(url: string, settings: Pick<Settings, 'lease'>) {
  const provider = providerAt(url, 'airtm')
  const call = <T>(
    path: string,
    body: object,
    resultOf: (payment: ProviderObject) => T,
    before: Before,
  ): CallOptions<T, undefined, 'required'> => ({
    async run(at) {
      await before(at.key)
      const answer = await provider.ask(path, { ...at, body: { ...body } })
      if (answer.kind === 'declined') throw refused(answer.message)
      return resultOf(answer.object)
    },
    async lookup({ key }) {
      const payment = await provider.find(key)
      return payment === undefined ? { landed: false } : { landed: true, result: resultOf(payment) }
    },
    classify: meaningOf,
    timeout: patienceOf(settings).timeout,
  })
  return {
    payin: (money: Money, before: Before) => call('/payins', money, payinOf, before),
    payout: (payout: Money & { readonly destination: object }, before: Before) =>
      call('/payouts', payout, payoutOf, before),
    /** How what was asked for under a key stands now; `undefined` when nothing was. */
    standing: provider.standing,
  }
}

export function payinOf({ id, confirmation_uri }: ProviderObject): Payin {
  return { id, confirmation_uri: String(confirmation_uri) }
}

export function payoutOf({ id }: ProviderObject): Payout {
  return { id }
}
