import { rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import type { Path } from '../web/paths.js'
import { createEscrow } from './create-escrow.js'
import { createOrder } from './create-order.js'
import { endOrder } from './end-order.js'
import { fundEscrow } from './fund-escrow.js'
import { idIn } from './guarding.js'
import { listPage, onePage, reading } from './lists.js'
import { findOrder, orderOf, shownEscrow, shownOrder } from './orders.js'
import { notFound } from './problems.js'
import { reserveOrder } from './reserve-order.js'

/** Every path of the marketplace. */
export function marketplacePaths(sandbox: Sandbox): readonly Path[] {
  const orders = {
    table: 'orders',
    one: 'order',
    shown: (row: Parameters<typeof orderOf>[0]) => shownOrder(orderOf(row)),
  } as const
  // Plain characters only: what else a path may spell, a database may refuse.
  const order = '/orders/:id(^[\\w-]+$)'
  return [
    ['GET', '/orders', listPage(sandbox, orders)],
    ['POST', '/orders', createOrder(sandbox)],
    ['GET', order, onePage(sandbox, orders)],
    ['POST', `${order}/reserve`, reserveOrder(sandbox)],
    ['GET', `${order}/escrow`, escrowPage(sandbox)],
    ['POST', `${order}/escrow`, createEscrow(sandbox)],
    ['POST', `${order}/escrow/fund`, fundEscrow(sandbox)],
    ['POST', `${order}/release`, endOrder(sandbox, 'release')],
    ['POST', `${order}/refund`, endOrder(sandbox, 'refund')],
  ]
}

function escrowPage({ database }: Sandbox) {
  return reading(async (request) => {
    const order = await findOrder(rowsOf(database), { tenant: request.tenant, orderId: idIn(request) })
    if (order === undefined) throw notFound('order')
    if (order.escrowId === null) throw notFound('escrow')
    return shownEscrow(order)
  })
}
