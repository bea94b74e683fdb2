import type { Rows } from '../database/database.js'
import type { ProviderObject } from '../partners/provider.js'

/**
 * What Trustless Work says of an escrow is kept beside the order, the latest word last. The order itself goes on by the
 * request that asked for it, which this is evidence for, should that not have heard the answer.
 */
export async function hearOfEscrow({ db, run }: Rows, { reference, status, updatedAt }: ProviderObject): Promise<void> {
  const at = String(updatedAt)
  const query = db
    .updateTable('orders')
    .set({ partner_status: String(status), partner_updated_at: at })
    .where('escrow_id', '=', String(reference))
    .where(({ or, eb }) => or([eb('partner_updated_at', 'is', null), eb('partner_updated_at', '<=', at)]))
  await run(query)
}
