import { type Rows, rowsIn } from '../database/database.js'
import { transfer } from '../money/ledger.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { guarded, inPhases, isNew, type Route } from './guarding.js'
import { beaten, orderNamed, quietOrder, requireStatus, requireUndisputed } from './looking.js'
import { leaveOrder, type Order, type OrderName, type OrderStep, shownOrder, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import type { Decision } from './requests.js'

/** How an order ends: its money goes to the seller, or back to the buyer. */
const endings = {
  release: { status: 'RELEASED', to: 'sellerId' },
  refund: { status: 'REFUNDED', to: 'buyerId' },
} as const

/** POST /orders/{id}/release and /refund. One that ended this way before answers so; one that ended the other way, 409. */
export function endOrder(sandbox: Sandbox, { trustlessWork }: Partners, decision: Decision): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const operation = hapax.operation(`orders.${decision}`, options, async (work, name: OrderStep) => {
    if (isNew(work)) {
      const order = await quietOrder(sandbox, name)
      if (order.status === endings[decision].status) return { status: 200, body: shownOrder(order) }
      requireStatus(order, 'ESCROW_FUNDED')
      requireUndisputed(order)
    }
    const escrowId = await work.transaction(`${decision}_begun`, async ({ tx }) => {
      const changes = { moving: decision, where: 'undisputed' } as const
      const order = await takeOrder(rowsIn(database, tx), name, { from: 'ESCROW_FUNDED', ...changes })
      return order?.partnerEscrowId ?? null
    })
    if (escrowId === null) {
      return beaten(sandbox, name, { from: 'ESCROW_FUNDED', to: endings[decision].status })
    }
    const ended = await heard(work.call(`${decision}_done`, trustlessWork.move(escrowId, decision)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (ended.kind === 'refused') {
        await leaveOrder(rows, name, {})
        return refusedReply(ended.refusal)
      }
      return { status: 200, body: shownOrder(await writeEnd(rows, name, decision)) }
    })
  })
  return guarded(sandbox, operation, (request) => orderNamed(sandbox, request))
}

/** The order ends and its money goes on, in the transaction of whoever decided that. */
export async function writeEnd(rows: Rows, name: OrderName, decision: Decision): Promise<Order> {
  const { status, to } = endings[decision]
  const order = await leaveOrder(rows, name, { status })
  const { tenant, id, amount, currency } = order
  const cause = `order_${status.toLowerCase()}:${id}`
  await transfer(rows, { tenant, cause, from: `order:${id}`, to: `user:${order[to]}`, amount, currency })
  return order
}
