/** The effects of the victim, and who carries them out. */
import * as hapax from 'hapax'
import { gatewayOf } from './gateway.mjs'

export function outboxOf(job, insert) {
  const { charge, find, honoursKeyFor } = gatewayOf(job)
  const none = { claimed: 0 }
  const defined = hapax.effects?.({
    'receipt.send': {
      call: ({ key, payload, signal }) => charge(key, { receipt: payload.ride }, signal),
      lookup: ({ key }) => find(key),
      apply: (tx, { id }) => insert(tx, 'receipts', id),
      ...(honoursKeyFor && { honoursKeyFor }),
    },
  })
  return {
    catalogue: { has: () => true, orderOf: () => undefined },
    workersOn({ outbox, calls }) {
      if (defined === undefined) return { worker: { runOnce: () => none }, reconciler: { runOnce: () => none } }
      const given = { store: outbox, effects: defined, log: () => {} }
      return { worker: hapax.effectWorker(given), reconciler: hapax.effectReconciler({ ...given, calls }) }
    },
  }
}
