import { rowsIn, rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { idIn, type Route } from './guarding.js'
import { reading } from './lists.js'
import { conflict } from './problems.js'
import { cancelWithdrawal, findWithdrawal, shownWithdrawal } from './withdrawals.js'

/**
 * DELETE /withdrawals/{id}: what was set aside and not committed is its owner's again. Needs no key: of one that is cancelled
 * the same is said however often it is asked for. The row and the money move in one transaction, once.
 */
export function cancelling({ hapax, database }: Sandbox): Route {
  const policy = hapax.policy({ name: 'withdrawals.cancel', mode: 'transaction', concurrency: 'wait' })
  return reading(async (request) => {
    const name = { tenant: request.tenant, withdrawalId: idIn(request) }
    const found = async () => {
      const withdrawal = await findWithdrawal(rowsOf(database), name)
      if (withdrawal === undefined) throw notFound('withdrawal')
      return withdrawal
    }
    if ((await found()).status === 'CREATED') {
      const scope = { tenant: request.tenant, route: 'cancel' }
      await hapax.run({ scope, key: name.withdrawalId, policy }, (work) =>
        work.commit(async ({ tx }) => {
          await cancelWithdrawal(rowsIn(database, tx), name.withdrawalId)
          return {}
        }),
      )
    }
    const withdrawal = await found()
    if (withdrawal.status === 'CANCELLED') return shownWithdrawal(withdrawal)
    throw conflict('withdrawal_committed', `The withdrawal is ${withdrawal.status}: it was committed before.`)
  })
}
