import type { CallOptions } from 'hapax'
import type { Settings } from '../settings.js'
import { patienceOf } from './patience.js'
import { meaningOf, type ProviderObject, providerAt, refused } from './provider.js'

/** An escrow at Trustless Work, by the name that it has there. */
export interface Escrow {
  readonly id: string
}

export type EscrowMove = 'fund' | 'release' | 'refund' | 'dispute' | 'resolve'

export type TrustlessWork = ReturnType<typeof trustlessWorkAt>

/**
 * The calls to Trustless Work. It honours keys for a week, so that a call that broke off is made again under the same key;
 * and `confirm: 'now'` has it answer when it is done, and not before.
 */
export function trustlessWorkAt(url: string, settings: Pick<Settings, 'lease'>) {
  const provider = providerAt(url, 'trustless-work')
  const call = (path: string, body: object): CallOptions<Escrow, undefined, 'required'> => ({
    async run(at) {
      const answer = await provider.ask(path, { ...at, body: { ...body, confirm: 'now' } })
      if (answer.kind === 'declined') throw refused(answer.message)
      return escrowOf(answer.object)
    },
    async lookup({ key }) {
      const escrow = await provider.find(key)
      return escrow === undefined ? { landed: false } : { landed: true, result: escrowOf(escrow) }
    },
    classify: meaningOf,
    honoursKeyFor: '7d',
    timeout: patienceOf(settings).timeout,
  })
  return {
    /** `reference` is our own id of it, by which its webhooks are understood before its answer is there. */
    create: (escrow: { readonly amount: string; readonly currency: string; readonly reference: string }) =>
      call('/escrows', escrow),
    move: (id: string, move: EscrowMove, body: object = {}) => call(`/escrows/${id}/${move}`, body),
  }
}

/** The same out of an answer, a lookup and a webhook. */
export function escrowOf({ id }: ProviderObject): Escrow {
  return { id }
}
