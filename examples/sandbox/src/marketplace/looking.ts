import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import type { Problem } from '../web/problem.js'
import { idIn } from './guarding.js'
import { findOrder, type Order, type OrderName, type OrderStatus, theOrder } from './orders.js'
import { busy, conflict } from './problems.js'
import { emptyBodyOf } from './requests.js'
import type { Patience } from './taking.js'

/** What a request may know of an order before it begins. */

/** The order in the path, which exists and belongs to whoever asks. */
export async function orderNamed({ database }: Sandbox, request: FastifyRequest): Promise<OrderName> {
  const name = { tenant: request.tenant, orderId: idIn(request) }
  if ((await findOrder(rowsOf(database), name)) === undefined) throw notFound('order')
  return name
}

/** The same, of a request that has nothing else to say. */
export function onlyOrderNamed(sandbox: Sandbox): (request: FastifyRequest) => Promise<OrderName> {
  return (request) => {
    emptyBodyOf(request.body)
    return orderNamed(sandbox, request)
  }
}

const lookEveryMs = 50

/** The order, once no other request is at it: so that of two that come together, the second finds what the first did. */
export async function quietOrder({ database }: Sandbox, name: OrderName, patience: Patience): Promise<Order> {
  const rows = rowsOf(database)
  let order = await theOrder(rows, name)
  while (order.moving !== null) {
    if (patience.isOver) throw busy(order)
    await delay(lookEveryMs)
    order = await theOrder(rows, name)
  }
  return order
}

/**
 * Looks at an order before the key is reserved, and throws what `look` refuses. While another request is at the order, that is
 * waited for behind the key, and so nothing is said here.
 */
export function atFirstSight({ database }: Sandbox, look: (order: Order) => unknown) {
  return async (name: OrderName): Promise<void> => {
    const order = await theOrder(rowsOf(database), name)
    if (order.moving === null) await look(order)
  }
}

/** Refuses what cannot be done with an order as it is. */
export function requireStatus(order: Order, required: OrderStatus): void {
  if (order.status !== required) throw wrongStatus(order, required)
}

/** What has ended is not gone on with: its money is elsewhere. */
export function requireOpen(order: Order): void {
  if (order.status === 'RELEASED' || order.status === 'REFUNDED') throw wrongStatus(order, 'ESCROW_FUNDED')
}

/** Whoever disputes an order has it decided by the dispute alone. */
export function requireUndisputed({ disputeId }: Order): void {
  if (disputeId === null) return
  throw conflict('order_disputed', `The order is in dispute. Decide it by POST /disputes/${disputeId}/resolve.`)
}

function wrongStatus({ status }: Order, required: OrderStatus): Problem {
  if (status === 'RELEASED') return conflict('order_released', 'The money of this order went to its seller.')
  if (status === 'REFUNDED') return conflict('order_refunded', 'The money of this order went back to its buyer.')
  return conflict('order_state_invalid', `The order is ${status}, and this takes one that is ${required}.`)
}
