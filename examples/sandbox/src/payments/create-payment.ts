import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import { guard } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { authenticate, tenantOf } from '../web/tenant.js'
import { bodyLimit } from '../web/web-app.js'
import { type PaymentRequest, paymentRequestOf } from './payment-request.js'
import { insertPayment, type Payment } from './payments.js'
import { shown } from './show-payment.js'

/** POST /payments. Who asks and what for is settled before the key is looked at. */
export function createPayment({ hapax, database, delayMs, lease }: Sandbox): RouteShorthandOptionsWithHandler {
  const policy = {
    name: 'payments.create',
    retention: '24h',
    lease,
    // The only effect of a payment is one transaction of this database. A crash rolls it back, so that a retry may
    // simply run.
    onCrash: 'retry',
  } as const
  return guard(
    hapax,
    { ...policy, scope: tenantOf, methods: ['POST'], bodyLimit, statusAt: '/idempotency/status' },
    {
      onRequest: authenticate,
      preValidation: readPayment,
      async handler({ work, body, tenant }, reply) {
        if (delayMs > 0)
          await delay(delayMs, undefined, { signal: work.signal }).catch(() => work.signal.throwIfAborted())
        const id = `pay_${randomUUID()}`
        const asked = body as PaymentRequest
        const payment: Payment = { ...asked, id, tenant, status: 'created', createdAt: new Date().toISOString() }
        return work.commit(async ({ tx }) => {
          await tx.run(insertPayment(database.queries, payment))
          reply.code(201).header('Location', `/payments/${id}`)
          return shown(payment)
        })
      },
    },
  )
}

/** A hook: the handler is given a payment, or is not called. */
async function readPayment(request: FastifyRequest): Promise<void> {
  request.body = paymentRequestOf(request.body)
}
