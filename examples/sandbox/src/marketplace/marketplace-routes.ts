import { type Row, rowsOf } from '../database/database.js'
import type { Partners } from '../partners/partners.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import type { Path } from '../web/path.js'
import { withoutProviders } from '../web/without-providers.js'
import { cancelling } from './cancel-withdrawal.js'
import { commitWithdrawal } from './commit-withdrawal.js'
import { createEscrow } from './create-escrow.js'
import { createOrder } from './create-order.js'
import { createTopup } from './create-topup.js'
import { createWithdrawal } from './create-withdrawal.js'
import { disputeOf, shownDispute, theDispute } from './disputes.js'
import { endOrder } from './end-order.js'
import { fundEscrow } from './fund-escrow.js'
import { idIn, type Route } from './guarding.js'
import { listPage, onePage, reading } from './lists.js'
import { openDispute } from './open-dispute.js'
import { findOrder, orderOf, shownEscrow, shownOrder } from './orders.js'
import { answerError } from './problems.js'
import { refreshTopup, refreshWithdrawal } from './refreshing.js'
import { reserveOrder } from './reserve-order.js'
import { decideDispute } from './resolve-dispute.js'
import { shownTopup, topupOf } from './topups.js'
import { shownWithdrawal, withdrawalOf } from './withdrawals.js'

const orders = { table: 'orders', one: 'order', shown: (row: Row) => shownOrder(orderOf(row)) } as const
const disputes = { table: 'disputes', one: 'dispute', shown: (row: Row) => shownDispute(disputeOf(row)) } as const
const topups = { table: 'topups', one: 'topup', shown: (row: Row) => shownTopup(topupOf(row)) } as const
const withdrawals = {
  table: 'withdrawals',
  one: 'withdrawal',
  shown: (row: Row) => shownWithdrawal(withdrawalOf(row)),
} as const

/** Plain characters only: what else a path may spell, a database may refuse. */
const id = ':id(^[\\w-]+$)'

/** Every path of the marketplace. */
export function marketplaceRoutes(sandbox: Sandbox): readonly Path[] {
  const asking = (route: (partners: Partners) => Route): Route =>
    sandbox.partners === undefined ? { ...withoutProviders(), errorHandler: answerError } : route(sandbox.partners)
  return [
    ['GET', '/topups', listPage(sandbox, topups)],
    ['POST', '/topups', asking((partners) => createTopup(sandbox, partners))],
    ['GET', `/topups/${id}`, onePage(sandbox, topups)],
    ['POST', `/topups/${id}/refresh`, asking((partners) => refreshTopup(sandbox, partners))],
    ['GET', '/orders', listPage(sandbox, orders)],
    ['POST', '/orders', createOrder(sandbox)],
    ['GET', `/orders/${id}`, onePage(sandbox, orders)],
    ['POST', `/orders/${id}/reserve`, reserveOrder(sandbox)],
    ['GET', `/orders/${id}/escrow`, escrowPage(sandbox)],
    ['POST', `/orders/${id}/escrow`, asking((partners) => createEscrow(sandbox, partners))],
    ['POST', `/orders/${id}/escrow/fund`, asking((partners) => fundEscrow(sandbox, partners))],
    ['POST', `/orders/${id}/release`, asking((partners) => endOrder(sandbox, partners, 'release'))],
    ['POST', `/orders/${id}/refund`, asking((partners) => endOrder(sandbox, partners, 'refund'))],
    ['GET', `/orders/${id}/disputes`, disputesOfOrder(sandbox)],
    ['POST', `/orders/${id}/disputes`, asking((partners) => openDispute(sandbox, partners))],
    ['GET', '/disputes', listPage(sandbox, disputes)],
    ['GET', `/disputes/${id}`, onePage(sandbox, disputes)],
    ['POST', `/disputes/${id}/resolve`, asking((partners) => decideDispute(sandbox, partners))],
    ['GET', '/withdrawals', listPage(sandbox, withdrawals)],
    ['POST', '/withdrawals', createWithdrawal(sandbox)],
    ['GET', `/withdrawals/${id}`, onePage(sandbox, withdrawals)],
    ['DELETE', `/withdrawals/${id}`, cancelling(sandbox)],
    ['POST', `/withdrawals/${id}/commit`, asking((partners) => commitWithdrawal(sandbox, partners))],
    ['POST', `/withdrawals/${id}/refresh`, asking((partners) => refreshWithdrawal(sandbox, partners))],
  ]
}

function escrowPage({ database }: Sandbox) {
  return reading(async (request) => {
    const order = await findOrder(rowsOf(database), { tenant: request.tenant, orderId: idIn(request) })
    if (order === undefined) throw notFound('order')
    if (order.partnerEscrowId === null) throw notFound('escrow')
    return shownEscrow(order)
  })
}

/** One at most. */
function disputesOfOrder({ database }: Sandbox) {
  return reading(async (request) => {
    const { tenant } = request
    const rows = rowsOf(database)
    const order = await findOrder(rows, { tenant, orderId: idIn(request) })
    if (order === undefined) throw notFound('order')
    const { disputeId } = order
    return { disputes: disputeId === null ? [] : [shownDispute(await theDispute(rows, { tenant, disputeId }))] }
  })
}
