import type { StoredRecord } from '../../../src/engine/record.js'
import type { Order } from '../application.js'
import { type Told, textOf } from '../client.js'
import { demand } from '../violation.js'

/** What is sent is durable by then, and is about the request that it answers. */
export function judgeSent(order: Order, status: number, body: string, record: StoredRecord | undefined): void {
  const name = `${order.tenant}/${order.key}`
  const stored = record?.answer
  demand(record?.state === 'completed' && stored !== undefined, () => `${name} was answered before that was durable`)
  const isSame = stored.kind === 'kept' && stored.status === status && textOf(stored.body) === body
  demand(isSame, () => `${name} was sent something else than what is stored`)
  const said = JSON.parse(body) as Partial<Order>
  demand(said.tenant === order.tenant, () => `${name} was sent an answer of tenant ${said.tenant}`)
  demand(said.amount === order.amount, () => `${name} was sent the answer to another request`)
}

/** Whoever asks after an answer was heard gets the same, or no answer now: never a conflict, and never another. */
export function judgeHeard(told: Told, earlier: readonly Told[], generationOf: (order: Order) => number): void {
  const { reply, order } = told
  if (reply === 'lost') return
  const name = `${order.tenant}/${order.key}`
  for (const [index, before] of earlier.entries()) {
    if (before.reply === 'lost' || !isAnswer(before.reply.status) || !isSameRequest(before, told)) continue
    if (isAnswer(reply.status))
      demand(before.reply.body === reply.body || generationOf(order) > 1, () => `${name} got two different answers`)
    else if (index < told.sentAfter) demand(reply.status !== 409, () => `${name} had an answer, and then a conflict`)
  }
}

export function isAnswer(status: number): boolean {
  return status < 400 || status === 402
}

function isSameRequest(one: Told, other: Told): boolean {
  const { tenant, key, amount } = one.order
  return tenant === other.order.tenant && key === other.order.key && amount === other.order.amount
}
