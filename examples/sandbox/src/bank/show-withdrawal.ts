import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Database } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { authenticateClient } from './bank-client.js'
import { findWithdrawal, shownWithdrawal, withdrawalOf } from './withdrawals.js'

/** GET /sb/v1/withdrawals/:id. Somebody else's is answered like one that does not exist. */
export function showWithdrawal({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticateClient,
    async handler({ tenant, params }) {
      const withdrawal = await withdrawalNow(database, tenant, (params as { id: string }).id)
      if (withdrawal === undefined) throw notFound('withdrawal')
      return withdrawal
    },
  }
}

/** How it stands. */
export async function withdrawalNow(database: Database, tenant: string, id: string) {
  const { rows } = await database.query(findWithdrawal(database.queries, tenant, id))
  const [row] = rows
  return row === undefined ? undefined : shownWithdrawal(withdrawalOf(row))
}
