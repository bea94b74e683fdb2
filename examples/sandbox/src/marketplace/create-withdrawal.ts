import { rowsIn } from '../database/database.js'
import { transfer } from '../money/ledger.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { guarded, inOneTransaction, type Route } from './guarding.js'
import { requireUsers, type WithdrawalRequest, withdrawalRequestOf } from './requests.js'
import { insertWithdrawal, shownWithdrawal } from './withdrawals.js'

interface Input extends WithdrawalRequest {
  readonly tenant: string
}

/** POST /withdrawals: sets the money aside. Nothing leaves before the withdrawal is committed. */
export function createWithdrawal(sandbox: Sandbox): Route {
  const { hapax, database } = sandbox
  const compared = ['user_id', 'amount', 'currency', 'destination.ref']
  const options = inOneTransaction({ retention: '24h', compared })
  const operation = hapax.operation('withdrawals.create', options, (work, input: Input) =>
    work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      const id = newId('wd')
      const withdrawal = await insertWithdrawal(rows, { ...input, id })
      const { tenant, userId, amount, currency } = withdrawal
      const cause = `withdrawal_created:${id}`
      await transfer(rows, { tenant, cause, from: `user:${userId}`, to: `withdrawal:${id}`, amount, currency })
      return { status: 201, headers: { Location: `/withdrawals/${id}` }, body: shownWithdrawal(withdrawal) }
    }),
  )
  return guarded(sandbox, operation, {
    async read({ tenant, body }) {
      const asked = withdrawalRequestOf(body)
      await requireUsers(sandbox, tenant, asked.userId)
      return { tenant, ...asked }
    },
  })
}
