import type { IncomingMessage } from 'node:http'
import { findPayment, type Payment, paymentOf } from './payments.js'
import { Problem } from './problem.js'
import { jsonReply, type Reply } from './reply.js'
import type { Sandbox } from './sandbox.js'
import { tenantOf } from './tenant.js'

/** GET /payments/:id. Another tenant's payment is answered like one that does not exist. */
export async function showPayment({ database }: Sandbox, request: IncomingMessage, id: string): Promise<Reply> {
  const { rows } = await database.query(findPayment(database.queries, tenantOf(request), id))
  const [row] = rows
  if (row !== undefined) return jsonReply(200, shown(paymentOf(row)))
  throw new Problem({
    status: 404,
    code: 'payment_not_found',
    title: 'There is no such payment.',
    detail: 'Check the id; a payment is only shown to the tenant that created it.',
  })
}

/** A payment as clients see it. */
export function shown({ id, customerId, amountCents, currency, metadata, status, createdAt }: Payment) {
  return { id, customerId, amountCents, currency, metadata, status, createdAt }
}
