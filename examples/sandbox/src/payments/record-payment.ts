import { randomUUID } from 'node:crypto'
import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { guard } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { authenticate } from '../web/tenant.js'
import { everyPayment, freshnessOf } from './guarding.js'
import { heldBack } from './held-back.js'
import { type PaymentRequest, readPayment } from './payment-request.js'
import { insertPayment, type Payment, shownPayment } from './payments.js'

/** POST /payments where there is no card processor: a payment is a row, and nobody is charged. */
export function recordPayment(sandbox: Sandbox): RouteShorthandOptionsWithHandler {
  const { hapax, database, delayMs, lease } = sandbox
  const policy = {
    name: 'payments.create',
    lease,
    ...freshnessOf(sandbox),
    // The only effect of a payment is one transaction of this database. A crash rolls it back, so that a retry may
    // simply run.
    onCrash: 'retry',
  } as const
  return guard(
    hapax,
    { ...policy, ...everyPayment(sandbox) },
    {
      onRequest: authenticate,
      preValidation: readPayment,
      async handler({ work, body, tenant }, reply) {
        await heldBack(delayMs, work.signal)
        const id = `pay_${randomUUID()}`
        const asked = body as PaymentRequest
        const payment: Payment = { ...asked, id, tenant, status: 'created', createdAt: new Date().toISOString() }
        return work.commit(async ({ tx }) => {
          await tx.run(insertPayment(database.queries, payment))
          reply.code(201).header('Location', `/payments/${id}`)
          return shownPayment(payment)
        })
      },
    },
  )
}
