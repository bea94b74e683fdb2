import { rowsIn } from '../database/database.js'
import { amountOf } from '../money/amounts.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { guarded, inPhases, type Route } from './guarding.js'
import { atFirstSight, onlyOrderNamed, quietOrder, requireStatus } from './looking.js'
import { leaveOrder, type Order, type OrderName, shownEscrow, takeOrder, theOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import { taken } from './taking.js'

/** POST /orders/{id}/escrow: an order has one escrow, whose id is ours and known before Trustless Work is asked. */
export function createEscrow(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const operation = hapax.operation('orders.escrow.create', options, async (work, name: OrderName) => {
    const order = await taken(sandbox, work, {
      phase: 'escrow_creating',
      look: async (patience) => asItStands(await quietOrder(sandbox, name, patience)),
      async take(rows) {
        // Once made, the id stays, also where Trustless Work declines and somebody tries again.
        const reference = (await theOrder(rows, name)).escrowId ?? newId('esc')
        const changes = { status: 'ESCROW_CREATING', moving: 'escrow', escrow_id: reference }
        const mine = await takeOrder(rows, name, { from: 'FUNDS_RESERVED', ...changes })
        return mine && { amount: amountOf(mine.amount), currency: mine.currency, reference }
      },
    })
    if (order.kind === 'there') return order.reply
    const escrow = await heard(work.call('escrow_created', trustlessWork.create(order.by)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (escrow.kind === 'refused') {
        await leaveOrder(rows, name, { status: 'FUNDS_RESERVED' })
        return refusedReply(escrow.refusal)
      }
      const created = await leaveOrder(rows, name, {
        partner_escrow_id: escrow.result.id,
        escrow_created_at: new Date().toISOString(),
      })
      return { status: 201, headers: { Location: `/orders/${name.orderId}/escrow` }, body: shownEscrow(created) }
    })
  })
  return guarded(sandbox, operation, { read: onlyOrderNamed(sandbox), look: atFirstSight(sandbox, asItStands) })
}

/**
 * An escrow that is there is answered, also once its order has ended. Before Trustless Work has it there is a name only, and
 * nothing to answer with.
 */
function asItStands(order: Order) {
  if (order.partnerEscrowId !== null) return { status: 200, body: shownEscrow(order) }
  requireStatus(order, 'FUNDS_RESERVED')
  return undefined
}
