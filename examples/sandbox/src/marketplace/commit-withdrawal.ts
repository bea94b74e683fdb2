import { type Rows, rowsIn, rowsOf } from '../database/database.js'
import { amountOf } from '../money/amounts.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { guarded, idIn, inPhases, isNew, type Route } from './guarding.js'
import { conflict, keptReply } from './problems.js'
import { heard, refusedReply } from './refusals.js'
import {
  changeWithdrawal,
  endWithdrawal,
  findWithdrawal,
  shownWithdrawal,
  type Withdrawal,
  type WithdrawalName,
} from './withdrawals.js'

/** POST /withdrawals/{id}/commit: Airtm is asked to send the money, once. One that was committed answers how it stands. */
export function commitWithdrawal(sandbox: Sandbox, { airtm }: Partners): Route {
  const { hapax, database } = sandbox
  const options = inPhases(sandbox, { retention: '24h', compared: [] })
  const operation = hapax.operation('withdrawals.commit', options, async (work, name: WithdrawalName) => {
    const { withdrawalId } = name
    if (isNew(work)) {
      const seen = await theWithdrawal(rowsOf(database), name)
      if (seen.status === 'CANCELLED') throw cancelled()
      if (seen.status !== 'CREATED') return { status: 200, body: shownWithdrawal(seen) }
    }
    const payout = await work.transaction('withdrawal_committed', async ({ tx }) => {
      const taken = await changeWithdrawal(rowsIn(database, tx), withdrawalId, ['CREATED'], { status: 'COMMITTED' })
      if (taken === undefined) return null
      const { amount, currency, destination } = taken
      return { amount: amountOf(amount), currency, destination, reference: withdrawalId }
    })
    if (payout === null) {
      const seen = await theWithdrawal(rowsOf(database), name)
      return seen.status === 'CANCELLED' ? keptReply(cancelled()) : { status: 200, body: shownWithdrawal(seen) }
    }
    const keep = (key: string) => changeWithdrawal(rowsOf(database), withdrawalId, ['COMMITTED'], { partner_key: key })
    const sent = await heard(work.call('payout_created', airtm.payout(payout, keep)))
    return work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      if (sent.kind === 'refused') {
        await endWithdrawal(rows, withdrawalId, 'FAILED')
        return refusedReply(sent.refusal)
      }
      const changes = { status: 'PROCESSING', partner_id: sent.result.id }
      const processing = await changeWithdrawal(rows, withdrawalId, ['COMMITTED'], changes)
      const withdrawal = processing ?? (await theWithdrawal(rows, name))
      // What was committed is processed, also where the webhook that ends it was quicker than this.
      return { status: 200, body: shownWithdrawal({ ...withdrawal, status: 'PROCESSING' }) }
    })
  })
  return guarded(sandbox, operation, async (request) => {
    const name = { tenant: request.tenant, withdrawalId: idIn(request) }
    if ((await findWithdrawal(rowsOf(database), name)) === undefined) throw notFound('withdrawal')
    return name
  })
}

function cancelled() {
  return conflict('withdrawal_cancelled', 'The withdrawal was cancelled, and its money is its owner’s again.')
}

async function theWithdrawal(rows: Rows, name: WithdrawalName): Promise<Withdrawal> {
  const withdrawal = await findWithdrawal(rows, name)
  if (withdrawal === undefined) throw new Error(`withdrawal ${name.withdrawalId} is gone`)
  return withdrawal
}
