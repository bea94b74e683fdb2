import { type Rows, rowsIn } from '../database/database.js'
import { transfer } from '../money/ledger.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { guarded, inPhases, type Route } from './guarding.js'
import { atFirstSight, onlyOrderNamed, quietOrder, requireStatus, requireUndisputed } from './looking.js'
import { leaveOrder, type Order, type OrderName, shownOrder, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import type { Decision } from './requests.js'
import { taken } from './taking.js'

/** How an order ends: its money goes to the seller, or back to the buyer. */
const endings = {
  release: { status: 'RELEASED', to: 'sellerId' },
  refund: { status: 'REFUNDED', to: 'buyerId' },
} as const

/** POST /orders/{id}/release and /refund. One that ended this way before answers so; one that ended the other way, 409. */
export function endOrder(sandbox: Sandbox, { trustlessWork }: Partners, decision: Decision): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const asItStands = (order: Order) => {
    if (order.status === endings[decision].status) return { status: 200, body: shownOrder(order) }
    requireStatus(order, 'ESCROW_FUNDED')
    requireUndisputed(order)
    return undefined
  }
  const operation = hapax.operation(`orders.${decision}`, options, async (work, name: OrderName) => {
    const order = await taken(sandbox, work, {
      phase: `${decision}_begun`,
      look: async (patience) => asItStands(await quietOrder(sandbox, name, patience)),
      async take(rows) {
        const changes = { moving: decision, where: 'undisputed' } as const
        return (await takeOrder(rows, name, { from: 'ESCROW_FUNDED', ...changes }))?.partnerEscrowId ?? undefined
      },
    })
    if (order.kind === 'there') return order.reply
    const ended = await heard(work.call(`${decision}_done`, trustlessWork.move(order.by, decision)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (ended.kind === 'refused') {
        await leaveOrder(rows, name, {})
        return refusedReply(ended.refusal)
      }
      return { status: 200, body: shownOrder(await writeEnd(rows, name, decision)) }
    })
  })
  return guarded(sandbox, operation, { read: onlyOrderNamed(sandbox), look: atFirstSight(sandbox, asItStands) })
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
