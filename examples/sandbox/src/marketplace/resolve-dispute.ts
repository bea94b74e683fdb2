import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { type DisputeName, findDispute, resolveDispute, shownDispute, theDispute } from './disputes.js'
import { writeEnd } from './end-order.js'
import { guarded, idIn, inPhases, type Route } from './guarding.js'
import { quietOrder } from './looking.js'
import { leaveOrder, type OrderName, takeOrder } from './orders.js'
import { heard, refusedReply } from './refusals.js'
import { type Decision, decisionOf } from './requests.js'
import { taken } from './taking.js'

interface Input extends OrderName, DisputeName {
  readonly decision: Decision
}

/** POST /disputes/{id}/resolve: the order ends as it was decided. A dispute that is resolved stays so, whatever is said. */
export function decideDispute(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: 'forever', compared: [] })
  const operation = hapax.operation('disputes.resolve', options, async (work, input: Input) => {
    const { decision } = input
    const order = await taken(sandbox, work, {
      phase: 'dispute_resolving',
      async look(patience) {
        await quietOrder(sandbox, input, patience)
        const dispute = await theDispute(rowsOf(database), input)
        return dispute.status === 'RESOLVED' ? { status: 200, body: shownDispute(dispute) } : undefined
      },
      async take(rows) {
        const mine = await takeOrder(rows, input, { from: 'ESCROW_FUNDED', moving: 'resolve' })
        return mine?.partnerEscrowId ?? undefined
      },
    })
    if (order.kind === 'there') return order.reply
    const resolved = await heard(work.call('dispute_resolved', trustlessWork.move(order.by, 'resolve', { decision })))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (resolved.kind === 'refused') {
        await leaveOrder(rows, input, {})
        return refusedReply(resolved.refusal)
      }
      await writeEnd(rows, input, decision)
      return { status: 200, body: shownDispute(await resolveDispute(rows, input, decision)) }
    })
  })
  return guarded(sandbox, operation, {
    async read(request) {
      const decision = decisionOf(request.body)
      const name = { tenant: request.tenant, disputeId: idIn(request) }
      const dispute = await findDispute(rowsOf(database), name)
      if (dispute === undefined) throw notFound('dispute')
      return { ...name, orderId: dispute.orderId, decision }
    },
  })
}
