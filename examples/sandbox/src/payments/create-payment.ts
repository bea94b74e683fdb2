import { randomUUID } from 'node:crypto'
import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { guard } from 'hapax/fastify'
import { isCharge } from '../partners/card.js'
import type { Partners } from '../partners/partners.js'
import { patienceOf } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import type { Sandbox } from '../sandbox.js'
import { repliedProblem } from '../web/problem.js'
import { authenticate } from '../web/tenant.js'
import { everyPayment, freshnessOf } from './guarding.js'
import { heldBack } from './held-back.js'
import { type PaymentRequest, readPayment } from './payment-request.js'
import { insertPayment, type Payment, setPaymentStatus, shownPayment } from './payments.js'

interface PaymentInput {
  readonly tenant: string
  readonly payment: PaymentRequest
}

/**
 * POST /payments. Who asks and what for is settled before the key is looked at. The row is there before the card is
 * charged, so that no charge is without one.
 */
export function createPayment(sandbox: Sandbox, { card }: Partners): RouteShorthandOptionsWithHandler {
  const { hapax, database, delayMs } = sandbox
  const { lease, timeout } = patienceOf(sandbox)
  const db = database.queries

  const operation = hapax.operation(
    'payments.create',
    { version: 1, lease, ...freshnessOf(sandbox) },
    async (work, { tenant, payment: asked }: PaymentInput) => {
      await heldBack(delayMs, work.signal)
      const payment: Payment = await work.transaction('payment_created', async ({ tx }) => {
        const id = `pay_${randomUUID()}`
        const pending: Payment = { ...asked, id, tenant, status: 'pending', createdAt: new Date().toISOString() }
        await tx.run(insertPayment(db, pending))
        return pending
      })
      const { id, amountCents, currency } = payment
      const charge = await work.call('charged', {
        run: (call) => card.charge({ reference: id, amountCents, currency }, call),
        // We do not rely on its memory of keys here. A call whose answer was lost is unknown, until the processor has
        // said what became of it; nothing is sent again before.
        lookup: ({ key }) => card.find(key),
        classify: meaningOf,
        accepts: isCharge,
        timeout,
      })
      return work.commit(async ({ tx }) => {
        await tx.run(setPaymentStatus(db, id, charge.status))
        if (charge.status === 'declined') return repliedProblem(declined(id))
        const body = shownPayment({ ...payment, status: charge.status })
        return { status: 201, body, headers: { Location: `/payments/${id}` } }
      })
    },
  )
  return guard(
    hapax,
    {
      ...everyPayment(sandbox),
      operation,
      input: ({ tenant, body }) => ({ tenant, payment: body as PaymentRequest }),
    },
    { onRequest: authenticate, preValidation: readPayment },
  )
}

/** An answer like any other: it is kept, and a retry gets it again. */
function declined(id: string) {
  return {
    status: 402,
    code: 'card_declined',
    title: 'The card was declined.',
    detail: `Nothing was charged; see /payments/${id}. To try again, use a new key.`,
  }
}
