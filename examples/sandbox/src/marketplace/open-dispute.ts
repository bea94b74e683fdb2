import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { insertDispute, shownDispute, theDispute } from './disputes.js'
import { guarded, inPhases, type Route } from './guarding.js'
import { atFirstSight, orderNamed, quietOrder, requireStatus } from './looking.js'
import { leaveOrder, type Order, type OrderName, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import { type DisputeRequest, disputeRequestOf } from './requests.js'
import { taken } from './taking.js'

interface Input extends OrderName, DisputeRequest {}

/** POST /orders/{id}/disputes: from then on the order ends by a decision only. Its key is never forgotten. */
export function openDispute(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: 'forever', compared: [] })
  const asItStands = async (order: Order) => {
    const { tenant, disputeId } = order
    if (disputeId !== null)
      return { status: 200, body: shownDispute(await theDispute(rowsOf(database), { tenant, disputeId })) }
    requireStatus(order, 'ESCROW_FUNDED')
    return undefined
  }
  const operation = hapax.operation('orders.dispute', options, async (work, input: Input) => {
    const { tenant, orderId, reason } = input
    const order = await taken(sandbox, work, {
      phase: 'dispute_opening',
      look: async (patience) => asItStands(await quietOrder(sandbox, input, patience)),
      async take(rows) {
        const changes = { moving: 'dispute', where: 'undisputed' } as const
        const mine = await takeOrder(rows, input, { from: 'ESCROW_FUNDED', ...changes })
        return mine && { disputeId: newId('dsp'), escrowId: String(mine.partnerEscrowId) }
      },
    })
    if (order.kind === 'there') return order.reply
    const { disputeId, escrowId } = order.by
    const opened = await heard(work.call('dispute_opened', trustlessWork.move(escrowId, 'dispute')))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (opened.kind === 'refused') {
        await leaveOrder(rows, input, {})
        return refusedReply(opened.refusal)
      }
      await leaveOrder(rows, input, { dispute_id: disputeId })
      const dispute = await insertDispute(rows, { id: disputeId, tenant, orderId, reason })
      return { status: 201, headers: { Location: `/disputes/${dispute.id}` }, body: shownDispute(dispute) }
    })
  })
  return guarded(sandbox, operation, {
    read: async (request) => ({ ...disputeRequestOf(request.body), ...(await orderNamed(sandbox, request)) }),
    look: atFirstSight(sandbox, asItStands),
  })
}
