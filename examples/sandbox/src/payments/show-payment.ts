import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { Problem } from '../web/problem.js'
import { authenticate } from '../web/tenant.js'
import { findPayment, type Payment, paymentOf } from './payments.js'

/** GET /payments/:id. Another tenant's payment is answered like one that does not exist. */
export function showPayment({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, params }) {
      const { id } = params as { id: string }
      const { rows } = await database.query(findPayment(database.queries, tenant, id))
      const [row] = rows
      if (row !== undefined) return shown(paymentOf(row))
      throw new Problem({
        status: 404,
        code: 'payment_not_found',
        title: 'There is no such payment.',
        detail: 'Check the id; a payment is only shown to the tenant that created it.',
      })
    },
  }
}

/** A payment as clients see it. */
export function shown({ id, customerId, amountCents, currency, metadata, status, createdAt }: Payment) {
  return { id, customerId, amountCents, currency, metadata, status, createdAt }
}
