import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { guarded } from './guarded.js'
import { jsonBody } from './json-body.js'
import { paymentRequestOf } from './payment-request.js'
import { insertPayment, type Payment } from './payments.js'
import { jsonReply, type Reply } from './reply.js'
import type { Sandbox } from './sandbox.js'
import { shown } from './show-payment.js'
import { tenantOf } from './tenant.js'

/** POST /payments. Who asks and what for is settled before the key is looked at. */
export async function createPayment(sandbox: Sandbox, request: IncomingMessage): Promise<Reply> {
  const { hapax, policy, database, delayMs } = sandbox
  const tenant = tenantOf(request)
  const { value, bytes } = await jsonBody(request)
  const wanted = paymentRequestOf(value)
  return guarded({ hapax, policy, tenant, request, input: bytes }, async (work) => {
    if (delayMs > 0) await delay(delayMs, undefined, { signal: work.signal }).catch(() => work.signal.throwIfAborted())
    const payment: Payment = {
      ...wanted,
      id: `pay_${randomUUID()}`,
      tenant,
      status: 'created',
      createdAt: new Date().toISOString(),
    }
    return work.commit(async ({ tx }) => {
      await tx.run(insertPayment(database.queries, payment))
      return jsonReply(201, shown(payment), { Location: `/payments/${payment.id}` })
    })
  })
}
