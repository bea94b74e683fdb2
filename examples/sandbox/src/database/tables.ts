import type { CompiledQuery, Kysely } from 'kysely'
import { createWithdrawalsTable, type WithdrawalTables } from '../bank/withdrawals.js'
import { createMarketplaceTables, type MarketplaceTables } from '../marketplace/tables.js'
import { createMoneyTables, type MoneyTables } from '../money/tables.js'
import { createNotificationTables, type NotificationTables } from '../notifications/notifications.js'
import { createPaymentsTable, type PaymentTables } from '../payments/payments.js'
import { createRidesTable, type RideTables } from '../rides/rides.js'

/** The tables of every feature; each says for itself what they are. */
export interface Tables
  extends PaymentTables,
    RideTables,
    NotificationTables,
    WithdrawalTables,
    MoneyTables,
    MarketplaceTables {}

/** What creates whatever is missing, in this order. */
export function createTables(db: Kysely<Tables>): readonly CompiledQuery[] {
  return [
    createPaymentsTable(db),
    createRidesTable(db.schema),
    ...createNotificationTables(db.schema),
    createWithdrawalsTable(db.schema),
    ...createMoneyTables(db.schema),
    ...createMarketplaceTables(db.schema),
  ]
}
