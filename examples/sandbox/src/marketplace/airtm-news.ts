import type { Rows } from '../database/database.js'
import { payinOf, payoutOf } from '../partners/airtm.js'
import type { ProviderObject } from '../partners/provider.js'
import { confirmTopup } from './topups.js'
import { endWithdrawal } from './withdrawals.js'

/**
 * What is known of a payment at Airtm, by a webhook or because we asked, moves the row that it belongs to: in any order, and
 * however often. `reference` is our own id, so that it is found also before Airtm's answer was written down.
 */
export async function hearOfPayment(rows: Rows, { object, status, reference }: ProviderObject): Promise<void> {
  const id = String(reference)
  if (object === 'payin' && status === 'confirmed') await confirmTopup(rows, id)
  if (object === 'payout' && status === 'completed') await endWithdrawal(rows, id, 'COMPLETED')
  if (object === 'payout' && status === 'failed') await endWithdrawal(rows, id, 'FAILED')
}

/** What our call would have been told: a payment that failed in the end was created all the same. */
export function paymentResult(payment: ProviderObject) {
  return payment.object === 'payin' ? payinOf(payment) : payoutOf(payment)
}
