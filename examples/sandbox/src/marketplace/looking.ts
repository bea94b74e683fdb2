import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import type { Problem } from '../web/problem.js'
import { idIn, keyIn } from './guarding.js'
import {
  findOrder,
  type Order,
  type OrderName,
  type OrderStatus,
  type OrderStep,
  shownOrder,
  theOrder,
} from './orders.js'
import { busy, conflict, keptReply } from './problems.js'

/** What a request may know of an order before it begins. */

/** The order in the path, which exists and belongs to whoever asks. */
export async function orderNamed({ database }: Sandbox, request: FastifyRequest): Promise<OrderStep> {
  const name = { tenant: request.tenant, orderId: idIn(request), key: keyIn(request) }
  if ((await findOrder(rowsOf(database), name)) === undefined) throw notFound('order')
  return name
}

/** How long a request waits for another one that is at the same order, and how often it looks. */
const patienceMs = 3_000
const lookEveryMs = 50

/** The order, once no other request is at it: so that of two that come together, the second finds what the first did. */
export async function quietOrder({ database }: Sandbox, name: OrderName): Promise<Order> {
  const rows = rowsOf(database)
  const until = performance.now() + patienceMs
  let order = await theOrder(rows, name)
  while (order.moving !== null) {
    if (performance.now() > until) throw busy(order.movingKey)
    await delay(lookEveryMs)
    order = await theOrder(rows, name)
  }
  return order
}

/** Refuses what cannot be done with an order as it is. */
export function requireStatus(order: Order, required: OrderStatus): void {
  if (order.status !== required) throw wrongStatus(order, required)
}

/** What has ended is not gone on with, though it has what is asked for: its money is elsewhere. */
export function requireOpen(order: Order): void {
  if (order.status === 'RELEASED' || order.status === 'REFUNDED') throw wrongStatus(order, 'ESCROW_FUNDED')
}

/** Whoever disputes an order has it decided by the dispute alone. */
export function requireUndisputed(order: Order): void {
  if (order.disputeId !== null) throw disputed(order.disputeId)
}

/**
 * What a request answers that was beaten to an order by another: how the order stands once that is through. This stands
 * behind a phase, where a refusal is an answer and is kept.
 */
export async function beaten(
  sandbox: Sandbox,
  name: OrderName,
  { from, to }: { readonly from: OrderStatus; readonly to?: OrderStatus },
) {
  const order = await quietOrder(sandbox, name)
  if (order.status === to) return { status: 200, body: shownOrder(order) }
  if (order.disputeId !== null) return keptReply(disputed(order.disputeId))
  return keptReply(order.status === from ? notThrough() : wrongStatus(order, from))
}

/** The other one was turned down, and the order is as it was. */
function notThrough(): Problem {
  return conflict('order_was_busy', 'Another request was at this order and did not get through. Try it with a new key.')
}

function wrongStatus({ status }: Order, required: OrderStatus): Problem {
  if (status === 'RELEASED') return conflict('order_released', 'The money of this order went to its seller.')
  if (status === 'REFUNDED') return conflict('order_refunded', 'The money of this order went back to its buyer.')
  return conflict('order_state_invalid', `The order is ${status}, and this takes one that is ${required}.`)
}

function disputed(disputeId: string): Problem {
  return conflict('order_disputed', `The order is in dispute. Decide it by POST /disputes/${disputeId}/resolve.`)
}
