import { rowsIn } from '../database/database.js'
import { amountOf } from '../money/amounts.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { guarded, inPhases, isNew, type Route } from './guarding.js'
import { beaten, orderNamed, quietOrder, requireOpen, requireStatus } from './looking.js'
import { leaveOrder, type Order, type OrderStep, shownEscrow, takeOrder, theOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'

/** POST /orders/{id}/escrow: an order has one escrow, whose id is ours and known before Trustless Work is asked. */
export function createEscrow(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const operation = hapax.operation('orders.escrow.create', options, async (work, name: OrderStep) => {
    if (isNew(work)) {
      const order = await quietOrder(sandbox, name)
      requireOpen(order)
      if (hasEscrow(order)) return { status: 200, body: shownEscrow(order) }
      requireStatus(order, 'FUNDS_RESERVED')
    }
    const taken = await work.transaction('escrow_creating', async ({ tx }) => {
      const rows = rowsIn(database, tx)
      // Once made, the id stays, also where Trustless Work declines and somebody tries again.
      const escrowId = (await theOrder(rows, name)).escrowId ?? newId('esc')
      const changes = { status: 'ESCROW_CREATING', moving: 'escrow', escrow_id: escrowId }
      const order = await takeOrder(rows, name, { from: 'FUNDS_RESERVED', ...changes })
      return order === undefined
        ? null
        : { amount: amountOf(order.amount), currency: order.currency, reference: escrowId }
    })
    if (taken === null) {
      const order = await quietOrder(sandbox, name)
      return hasEscrow(order)
        ? { status: 200, body: shownEscrow(order) }
        : beaten(sandbox, name, { from: 'FUNDS_RESERVED' })
    }
    const escrow = await heard(work.call('escrow_created', trustlessWork.create(taken)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (escrow.kind === 'refused') {
        await leaveOrder(rows, name, { status: 'FUNDS_RESERVED' })
        return refusedReply(escrow.refusal)
      }
      const order = await leaveOrder(rows, name, {
        partner_escrow_id: escrow.result.id,
        escrow_created_at: new Date().toISOString(),
      })
      return { status: 201, headers: { Location: `/orders/${name.orderId}/escrow` }, body: shownEscrow(order) }
    })
  })
  return guarded(sandbox, operation, (request) => orderNamed(sandbox, request))
}

/** Before Trustless Work has it there is a name only, and nothing to answer with. */
function hasEscrow({ partnerEscrowId }: Order): boolean {
  return partnerEscrowId !== null
}
