import { rowsIn } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { guarded, inPhases, type Route } from './guarding.js'
import { atFirstSight, onlyOrderNamed, quietOrder, requireStatus } from './looking.js'
import { leaveOrder, type Order, type OrderName, shownOrder, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import { taken } from './taking.js'

/** POST /orders/{id}/escrow/fund: what was set aside is in escrow from then on. */
export function fundEscrow(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const operation = hapax.operation('orders.escrow.fund', options, async (work, name: OrderName) => {
    const order = await taken(sandbox, work, {
      phase: 'escrow_funding',
      look: async (patience) => asItStands(await quietOrder(sandbox, name, patience)),
      async take(rows) {
        const changes = { status: 'ESCROW_FUNDING', moving: 'fund' }
        return (await takeOrder(rows, name, { from: 'ESCROW_CREATING', ...changes }))?.partnerEscrowId ?? undefined
      },
    })
    if (order.kind === 'there') return order.reply
    const funded = await heard(work.call('escrow_funded', trustlessWork.move(order.by, 'fund')))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (funded.kind === 'refused') {
        await leaveOrder(rows, name, { status: 'ESCROW_CREATING' })
        return refusedReply(funded.refusal)
      }
      return { status: 200, body: shownOrder(await leaveOrder(rows, name, { status: 'ESCROW_FUNDED' })) }
    })
  })
  return guarded(sandbox, operation, { read: onlyOrderNamed(sandbox), look: atFirstSight(sandbox, asItStands) })
}

function asItStands(order: Order) {
  if (order.status === 'ESCROW_FUNDED') return { status: 200, body: shownOrder(order) }
  requireStatus(order, 'ESCROW_CREATING')
  return undefined
}
