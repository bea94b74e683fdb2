import type { CallOptions } from 'hapax'
import type { Sandbox } from '../sandbox.js'
import { type Answer, ask, found, meaningOf } from './ask.js'
import { callTimes } from './call-times.js'

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

/**
 * Calls to Airtm, which does not honour keys: the same call again would be another payment. So a call whose answer was lost
 * is in doubt, until the lookup, a webhook or a person says what became of it. `before` is told the key that is sent.
 */
export function airtm({ providersUrl, lease }: Pick<Sandbox, 'providersUrl' | 'lease'>) {
  const call = <T>(
    path: string,
    body: object,
    resultOf: (answer: Answer) => T,
    before: Before,
  ): CallOptions<T, undefined, 'required'> => ({
    async run({ key, signal }) {
      await before(key)
      return resultOf(await ask(providersUrl, { method: 'POST', path, key, signal, body }))
    },
    lookup: ({ key }) => found(providersUrl, callsPath(key), resultOf),
    classify: meaningOf,
    timeout: callTimes(lease).timeout,
  })
  return {
    payin: (money: Money, before: Before) => call('/airtm/payins', money, payinOf, before),
    payout: (payout: Money & { readonly destination: object }, before: Before) =>
      call('/airtm/payouts', payout, payoutOf, before),
    /** How what was asked for under a key stands now; `undefined` when nothing was. */
    async standing(key: string): Promise<Answer | undefined> {
      const { found, object } = await ask(providersUrl, { method: 'GET', path: callsPath(key) })
      return found === true ? (object as Answer) : undefined
    },
  }
}

type Before = (key: string) => Promise<unknown>

function callsPath(key: string): string {
  return `/airtm/calls?key=${encodeURIComponent(key)}`
}

export function payinOf({ id, confirmation_uri }: Answer): Payin {
  return { id: String(id), confirmation_uri: String(confirmation_uri) }
}

export function payoutOf({ id }: Answer): Payout {
  return { id: String(id) }
}
