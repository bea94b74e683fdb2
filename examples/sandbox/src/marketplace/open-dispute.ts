import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { insertDispute, shownDispute, theDispute } from './disputes.js'
import { guarded, inPhases, isNew, type Route } from './guarding.js'
import { beaten, orderNamed, quietOrder, requireStatus } from './looking.js'
import { leaveOrder, type Order, type OrderStep, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import { type DisputeRequest, disputeRequestOf } from './requests.js'

interface Input extends OrderStep, DisputeRequest {}

/** POST /orders/{id}/disputes: from then on the order ends by a decision only. Its key is never forgotten. */
export function openDispute(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: 'forever', compared: [] })
  const disputeOver = async ({ tenant, disputeId }: Order) =>
    disputeId === null
      ? undefined
      : { status: 200, body: shownDispute(await theDispute(rowsOf(database), { tenant, disputeId })) }
  const operation = hapax.operation('orders.dispute', options, async (work, input: Input) => {
    const { tenant, orderId, reason } = input
    if (isNew(work)) {
      const order = await quietOrder(sandbox, input)
      const there = await disputeOver(order)
      if (there !== undefined) return there
      requireStatus(order, 'ESCROW_FUNDED')
    }
    const taken = await work.transaction('dispute_opening', async ({ tx }) => {
      const changes = { moving: 'dispute', where: 'undisputed' } as const
      const order = await takeOrder(rowsIn(database, tx), input, { from: 'ESCROW_FUNDED', ...changes })
      return order === undefined ? null : { disputeId: newId('dsp'), escrowId: String(order.partnerEscrowId) }
    })
    if (taken === null)
      return (await disputeOver(await quietOrder(sandbox, input))) ?? beaten(sandbox, input, { from: 'ESCROW_FUNDED' })
    const opened = await heard(work.call('dispute_opened', trustlessWork.move(taken.escrowId, 'dispute')))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (opened.kind === 'refused') {
        await leaveOrder(rows, input, {})
        return refusedReply(opened.refusal)
      }
      await leaveOrder(rows, input, { dispute_id: taken.disputeId })
      const dispute = await insertDispute(rows, { id: taken.disputeId, tenant, orderId, reason })
      return { status: 201, headers: { Location: `/disputes/${dispute.id}` }, body: shownDispute(dispute) }
    })
  })
  return guarded(sandbox, operation, async (request) => ({
    ...(await orderNamed(sandbox, request)),
    ...disputeRequestOf(request.body),
  }))
}
