import type { EffectAbout, EffectCall, EffectDefinition } from 'hapax'
import type { Database, Transaction } from '../database/database.js'
import type { Notifier, Sent } from '../partners/notifier.js'
import type { Patience } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import { mostDaysAhead } from './notification-request.js'
import { setNotificationStatus } from './notifications.js'

interface Job {
  readonly id: string
  readonly to: string
  readonly text: string
}

/** The job. The notifier honours no keys, so that one whose answer was lost is asked about before it is sent again. */
export function sendNotification(
  { queries: db }: Database,
  notifier: Notifier,
  { timeout }: Patience,
): EffectDefinition<Job, Sent, Transaction> {
  return {
    call: ({ payload: { id, to, text }, key, signal }: EffectCall<Job>) =>
      notifier.send({ to, text, reference: id }, { key, signal }),
    lookup: ({ key }) => notifier.find(key),
    classify: meaningOf,
    providerId: (sent) => (sent.status === 'sent' ? sent.id : undefined),
    apply: async (tx, { status }, { payload }: EffectAbout<Job>) => {
      await tx.run(setNotificationStatus(db, payload.id, status))
    },
    // Counted from when it was written: three days are left for the one that is farthest off.
    retry: { within: `${mostDaysAhead + 3}d` },
    timeout,
  }
}
