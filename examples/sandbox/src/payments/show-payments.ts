import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { pageOf } from '../web/paging.js'
import { authenticate } from '../web/tenant.js'
import { findPayment, listPayments, paymentOf, shownPayment } from './payments.js'

/** GET /payments/:id. Another tenant's payment is answered like one that does not exist. */
export function showPayment({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, params }) {
      const { id } = params as { id: string }
      const { rows } = await database.query(findPayment(database.queries, tenant, id))
      const [row] = rows
      if (row === undefined) throw notFound('payment')
      return shownPayment(paymentOf(row))
    },
  }
}

/** GET /payments: the tenant's, the last one first. */
export function showPayments({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, query }) {
      const { items: payments, next } = await pageOf(query, async (limit, after) => {
        const { rows } = await database.query(listPayments(database.queries, tenant, limit, after))
        return rows.map((row) => shownPayment(paymentOf(row)))
      })
      return { payments, ...(next !== undefined && { next }) }
    },
  }
}
