import type { EffectAbout, EffectCall, EffectDefinition } from 'hapax'
import type { Database, Transaction } from '../database/database.js'
import { type Bank, bankHonoursKeyFor, type Payout, type WithdrawalOrder } from '../partners/bank.js'
import type { Patience } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import { setWithdrawalStatus } from './withdrawals.js'

/** The job of a withdrawal. The bank honours keys: one whose answer was lost is sent again, and is paid out once. */
export function payOut(
  { queries: db }: Database,
  bank: Bank,
  { timeout }: Patience,
): EffectDefinition<WithdrawalOrder, Payout, Transaction> {
  return {
    call: ({ payload, key, signal }: EffectCall<WithdrawalOrder>) => bank.withdraw(payload, { key, signal }),
    lookup: ({ key }) => bank.find(key),
    classify: meaningOf,
    honoursKeyFor: bankHonoursKeyFor,
    providerId: (payout) => (payout.status === 'completed' ? payout.id : undefined),
    apply: async (tx, { status }, { payload }: EffectAbout<WithdrawalOrder>) => {
      await tx.run(setWithdrawalStatus(db, payload.reference, status))
    },
    timeout,
  }
}
