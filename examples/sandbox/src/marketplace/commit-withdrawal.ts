import { type Rows, rowsIn, rowsOf } from '../database/database.js'
import { amountOf } from '../money/amounts.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { guarded, idIn, inPhases, type Route } from './guarding.js'
import { conflict } from './problems.js'
import { heard, refusedReply } from './refusals.js'
import { emptyBodyOf } from './requests.js'
import { taken } from './taking.js'
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
  const look = async (name: WithdrawalName) => asItStands(await theWithdrawal(rowsOf(database), name))
  const operation = hapax.operation('withdrawals.commit', options, async (work, name: WithdrawalName) => {
    const { withdrawalId } = name
    const payout = await taken(sandbox, work, {
      phase: 'withdrawal_committed',
      look: () => look(name),
      async take(rows) {
        const mine = await changeWithdrawal(rows, withdrawalId, ['CREATED'], { status: 'COMMITTED' })
        if (mine === undefined) return undefined
        const { amount, currency, destination } = mine
        return { amount: amountOf(amount), currency, destination, reference: withdrawalId }
      },
    })
    if (payout.kind === 'there') return payout.reply
    const keep = (key: string) => changeWithdrawal(rowsOf(database), withdrawalId, ['COMMITTED'], { partner_key: key })
    const sent = await heard(work.call('payout_created', airtm.payout(payout.by, keep)))
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
  return guarded(sandbox, operation, {
    async read(request) {
      emptyBodyOf(request.body)
      const name = { tenant: request.tenant, withdrawalId: idIn(request) }
      if ((await findWithdrawal(rowsOf(database), name)) === undefined) throw notFound('withdrawal')
      return name
    },
    look,
  })
}

function asItStands(withdrawal: Withdrawal) {
  if (withdrawal.status === 'CANCELLED')
    throw conflict('withdrawal_cancelled', 'The withdrawal was cancelled, and its money is its owner’s again.')
  return withdrawal.status === 'CREATED' ? undefined : { status: 200, body: shownWithdrawal(withdrawal) }
}

async function theWithdrawal(rows: Rows, name: WithdrawalName): Promise<Withdrawal> {
  const withdrawal = await findWithdrawal(rows, name)
  if (withdrawal === undefined) throw new Error(`withdrawal ${name.withdrawalId} is gone`)
  return withdrawal
}
