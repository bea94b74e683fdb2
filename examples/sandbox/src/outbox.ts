import { type Effects, effects } from 'hapax'
import { payOut } from './bank/pay-out.js'
import type { Database, Transaction } from './database/database.js'
import { sendNotification } from './notifications/send-notification.js'
import type { Partners } from './partners/partners.js'
import { patienceOf } from './partners/patience.js'
import { sendReceipt } from './rides/send-receipt.js'
import type { Settings } from './settings.js'

/** Everything that is written down with business rows, and carried out by a worker. */
export function outboxOf(
  database: Database,
  { bank, notifier }: Partners,
  settings: Pick<Settings, 'lease'>,
): Effects<unknown, Transaction> {
  const patience = patienceOf(settings)
  return effects({
    'rides.receipt': sendReceipt(database, notifier, patience),
    'notifications.send': sendNotification(database, notifier, patience),
    'bank.withdraw': payOut(database, bank, patience),
  })
}
