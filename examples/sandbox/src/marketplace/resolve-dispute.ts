import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { type Dispute, type DisputeName, findDispute, resolveDispute, shownDispute, theDispute } from './disputes.js'
import { writeEnd } from './end-order.js'
import { guarded, idIn, inPhases, isNew, keyIn, type Route } from './guarding.js'
import { quietOrder } from './looking.js'
import { leaveOrder, type OrderStep, takeOrder } from './orders.js'
import { conflict, keptReply } from './problems.js'
import { heard, refusedReply } from './refusals.js'
import { type Decision, decisionOf } from './requests.js'

interface Input extends OrderStep, DisputeName {
  readonly decision: Decision
}

/** POST /disputes/{id}/resolve: the order ends as it was decided. A dispute that is resolved stays so, whatever is said. */
export function decideDispute(sandbox: Sandbox, { trustlessWork }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: 'forever', compared: [] })
  const operation = hapax.operation('disputes.resolve', options, async (work, input: Input) => {
    const { decision } = input
    if (isNew(work)) {
      await quietOrder(sandbox, input)
      const dispute = await theDispute(rowsOf(database), input)
      if (dispute.status === 'RESOLVED') return resolution(dispute)
    }
    const escrowId = await work.transaction('dispute_resolving', async ({ tx }) => {
      const order = await takeOrder(rowsIn(database, tx), input, { from: 'ESCROW_FUNDED', moving: 'resolve' })
      return order?.partnerEscrowId ?? null
    })
    if (escrowId === null) {
      await quietOrder(sandbox, input)
      return resolution(await theDispute(rowsOf(database), input))
    }
    const resolved = await heard(work.call('dispute_resolved', trustlessWork.move(escrowId, 'resolve', { decision })))
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
  return guarded(sandbox, operation, async (request) => {
    const decision = decisionOf(request.body)
    const name = { tenant: request.tenant, disputeId: idIn(request) }
    const dispute = await findDispute(rowsOf(database), name)
    if (dispute === undefined) throw notFound('dispute')
    return { ...name, orderId: dispute.orderId, decision, key: keyIn(request) }
  })
}

/** How it was resolved. Where the one who was first was refused by Trustless Work, it was not. */
function resolution(dispute: Dispute) {
  if (dispute.status === 'RESOLVED') return { status: 200, body: shownDispute(dispute) }
  return keptReply(conflict('dispute_open', 'The dispute was not resolved. Send it again with a new key.'))
}
