/** The effects of the application, and who carries them out. */
import { effectReconciler, effects, effectWorker } from 'hapax'

/** What is sent is a receipt; the provider says under which number, and that becomes a row. */
export function outboxOf({ charge, find, honoursKeyFor }, insert) {
  return effects({
    'receipt.send': {
      call: ({ key, payload, signal }) => charge(key, { receipt: payload.ride }, signal),
      lookup: ({ key }) => find(key),
      apply: (tx, { id }) => insert(tx, 'receipts', id),
      ...(honoursKeyFor && { honoursKeyFor }),
    },
  })
}

/** @param {import('hapax').Engine<any>} hapax */
export function workersOf({ outbox, calls, effects }) {
  const given = { store: outbox, effects, log: () => {} }
  return { worker: effectWorker(given), reconciler: effectReconciler({ ...given, calls }) }
}
