import type { FastifyRequest } from 'fastify'
import { rowsIn, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { hearOfPayment, paymentResult } from './airtm-news.js'
import { idIn, type Route } from './guarding.js'
import { reading } from './lists.js'
import { findTopup, shownTopup } from './topups.js'
import { findWithdrawal, shownWithdrawal } from './withdrawals.js'

/** POST /topups/{id}/refresh. Needs no key: it asks how things stand, and however often it does, that is what there is. */
export function refreshTopup(sandbox: Sandbox, { airtm }: Partners): Route {
  const rows = rowsOf(sandbox.database)
  const refresh = refreshing(sandbox, airtm)
  const found = async (request: FastifyRequest) => {
    const topup = await findTopup(rows, request.tenant, idIn(request))
    if (topup === undefined) throw notFound('topup')
    return topup
  }
  return reading(async (request) => {
    const { id, status, partnerKey } = await found(request)
    if (status === 'PENDING') await refresh(request.tenant, id, partnerKey)
    return shownTopup(await found(request))
  })
}

/** POST /withdrawals/{id}/refresh. */
export function refreshWithdrawal(sandbox: Sandbox, { airtm }: Partners): Route {
  const rows = rowsOf(sandbox.database)
  const refresh = refreshing(sandbox, airtm)
  const found = async (request: FastifyRequest) => {
    const withdrawal = await findWithdrawal(rows, { tenant: request.tenant, withdrawalId: idIn(request) })
    if (withdrawal === undefined) throw notFound('withdrawal')
    return withdrawal
  }
  return reading(async (request) => {
    const { id, status, partnerKey } = await found(request)
    const isOpen = status === 'COMMITTED' || status === 'PROCESSING'
    if (isOpen) await refresh(request.tenant, id, partnerKey)
    return shownWithdrawal(await found(request))
  })
}

/**
 * Asks Airtm what became of a payment, and does as a webhook would: the rows move in a transaction, and whoever is in doubt
 * about the call is told. The rows themselves see to it that this is done once.
 */
function refreshing({ hapax, database }: Sandbox, airtm: Partners['airtm']) {
  const policy = hapax.policy({ name: 'payments.refresh', mode: 'transaction', concurrency: 'wait' })
  return async (tenant: string, id: string, partnerKey: string | null): Promise<void> => {
    const payment = partnerKey === null ? undefined : await airtm.standing(partnerKey)
    if (partnerKey === null || payment === undefined) return
    const scope = { tenant, route: 'refresh' }
    await hapax.run({ scope, key: `${id}:${payment.status}`, policy }, (work) =>
      work.commit(async ({ tx }) => {
        await hearOfPayment(rowsIn(database, tx), payment)
        return { status: String(payment.status) }
      }),
    )
    const why = `asked for ${id}`
    await hapax.testify({
      downstreamKey: partnerKey,
      says: 'landed',
      result: paymentResult(payment),
      by: 'refresh',
      why,
    })
  }
}
