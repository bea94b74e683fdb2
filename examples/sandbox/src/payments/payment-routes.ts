import type { Sandbox } from '../sandbox.js'
import type { Path } from '../web/path.js'
import { createPayment } from './create-payment.js'
import { recordPayment } from './record-payment.js'
import { showPayment, showPayments } from './show-payments.js'

export function paymentRoutes(sandbox: Sandbox): readonly Path[] {
  const { partners } = sandbox
  return [
    ['POST', '/payments', partners === undefined ? recordPayment(sandbox) : createPayment(sandbox, partners)],
    ['GET', '/payments', showPayments(sandbox)],
    // Plain characters only: what else a path may spell, a database may refuse.
    ['GET', '/payments/:id(^[\\w-]+$)', showPayment(sandbox)],
  ]
}
