import { rowsIn } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { guarded, inPhases, isNew, type Route } from './guarding.js'
import { beaten, orderNamed, quietOrder, requireStatus } from './looking.js'
import { leaveOrder, type OrderStep, shownOrder, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'

/** POST /orders/{id}/escrow/fund: what was set aside is in escrow from then on. */
export function fundEscrow(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '7d', compared: [] })
  const operation = hapax.operation('orders.escrow.fund', options, async (work, name: OrderStep) => {
    if (isNew(work)) {
      const order = await quietOrder(sandbox, name)
      if (order.status === 'ESCROW_FUNDED') return { status: 200, body: shownOrder(order) }
      requireStatus(order, 'ESCROW_CREATING')
    }
    const escrowId = await work.transaction('escrow_funding', async ({ tx }) => {
      const changes = { status: 'ESCROW_FUNDING', moving: 'fund' }
      const order = await takeOrder(rowsIn(database, tx), name, { from: 'ESCROW_CREATING', ...changes })
      return order?.partnerEscrowId ?? null
    })
    if (escrowId === null) return beaten(sandbox, name, { from: 'ESCROW_CREATING', to: 'ESCROW_FUNDED' })
    const funded = await heard(work.call('escrow_funded', trustlessWork.move(escrowId, 'fund')))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (funded.kind === 'refused') {
        await leaveOrder(rows, name, { status: 'ESCROW_CREATING' })
        return refusedReply(funded.refusal)
      }
      return { status: 200, body: shownOrder(await leaveOrder(rows, name, { status: 'ESCROW_FUNDED' })) }
    })
  })
  return guarded(sandbox, operation, (request) => orderNamed(sandbox, request))
}
