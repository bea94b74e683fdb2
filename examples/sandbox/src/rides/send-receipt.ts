import type { EffectAbout, EffectCall, EffectDefinition } from 'hapax'
import type { Database, Transaction } from '../database/database.js'
import type { Notifier, Sent } from '../partners/notifier.js'
import type { Patience } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import { setReceipt } from './rides.js'

export interface Receipt {
  readonly rideId: string
  readonly tenant: string
  readonly text: string
}

/**
 * An effect: it was written with the ride, and a worker carries it out when the rider has long been answered. The notifier
 * honours no keys. So it is asked what became of a message whose answer was lost, and only one that was not sent is sent.
 */
export function sendReceipt(
  { queries: db }: Database,
  notifier: Notifier,
  { timeout }: Patience,
): EffectDefinition<Receipt, Sent, Transaction> {
  return {
    call: ({ payload: { rideId, tenant, text }, key, signal }: EffectCall<Receipt>) =>
      notifier.send({ to: `riders@${tenant}.example`, text, reference: rideId }, { key, signal }),
    lookup: ({ key }) => notifier.find(key),
    classify: meaningOf,
    providerId: (sent) => (sent.status === 'sent' ? sent.id : undefined),
    apply: async (tx, { status }, { payload }: EffectAbout<Receipt>) => {
      await tx.run(setReceipt(db, payload.rideId, status))
    },
    timeout,
  }
}
