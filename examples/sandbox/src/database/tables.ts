import type { CompiledQuery, Kysely } from 'kysely'
import { createMarketplaceTables, type MarketplaceTables } from '../marketplace/tables.js'
import { createMoneyTables, type MoneyTables } from '../money/tables.js'
import { createPaymentsTable, type PaymentTables } from '../payments/payments.js'

/** The tables of every feature; each says for itself what they are. */
export interface Tables extends PaymentTables, MoneyTables, MarketplaceTables {}

/** What creates whatever is missing, in this order. */
export function createTables(db: Kysely<Tables>): readonly CompiledQuery[] {
  return [createPaymentsTable(db), ...createMoneyTables(db.schema), ...createMarketplaceTables(db.schema)]
}
