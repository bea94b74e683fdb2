import type { CallOptions } from 'hapax'
import type { Sandbox } from '../sandbox.js'
import { type Answer, ask, found, meaningOf } from './ask.js'
import { callTimes } from './call-times.js'

/** An escrow at Trustless Work, by the name that it has there. */
export interface Escrow {
  readonly id: string
}

export type Move = 'fund' | 'release' | 'refund' | 'dispute' | 'resolve'

/**
 * Calls to Trustless Work. It honours keys for a week, so that a call that broke off is made again under the same key; and
 * `confirm: 'now'` has it answer when it is done, and not before.
 */
export function trustlessWork({ providersUrl, lease }: Pick<Sandbox, 'providersUrl' | 'lease'>) {
  const call = (path: string, body: object): CallOptions<Escrow, undefined, 'required'> => ({
    run: async ({ key, signal }) =>
      escrowOf(await ask(providersUrl, { method: 'POST', path, key, signal, body: { ...body, confirm: 'now' } })),
    lookup: ({ key }) => found(providersUrl, `/trustless-work/calls?key=${encodeURIComponent(key)}`, escrowOf),
    classify: meaningOf,
    honoursKeyFor: '7d',
    timeout: callTimes(lease).timeout,
  })
  return {
    /** `reference` is our own id of it, by which its webhooks are understood before its answer is there. */
    create: (escrow: { readonly amount: string; readonly currency: string; readonly reference: string }) =>
      call('/trustless-work/escrows', escrow),
    move: (id: string, move: Move, body: object = {}) => call(`/trustless-work/escrows/${id}/${move}`, body),
  }
}

/** The same out of an answer, a lookup and a webhook. */
export function escrowOf({ id }: Answer): Escrow {
  return { id: String(id) }
}
