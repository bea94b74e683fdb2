import { type Rows, rowsIn } from '../database/database.js'
import { minorUnitsOf } from '../money/amounts.js'
import type { Sandbox } from '../sandbox.js'
import { newId } from '../web/ids.js'
import { guarded, inOneTransaction, type Route } from './guarding.js'
import { type Order, orderOf, shownOrder } from './orders.js'
import { conflict } from './problems.js'
import { type OrderRequest, orderRequestOf, requireUsers } from './requests.js'

interface Input extends OrderRequest {
  readonly tenant: string
}

/** POST /orders. Moves no money yet. What a client calls by the same `client_order_ref` is one order, whatever its keys. */
export function createOrder(sandbox: Sandbox): Route {
  const { hapax, database } = sandbox
  const compared = ['buyer_id', 'seller_id', 'amount', 'currency', 'client_order_ref']
  const options = inOneTransaction({ retention: '7d', compared })
  const operation = hapax.operation('orders.create', options, (work, input: Input) =>
    work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      const created = await insertOrder(rows, input)
      if (created !== undefined) {
        const headers = { Location: `/orders/${created.id}` }
        return { status: 201, headers, body: shownOrder(created) }
      }
      return { status: 200, body: shownOrder(await sameOrder(rows, input)) }
    }),
  )
  return guarded(sandbox, operation, {
    async read({ tenant, body }) {
      const asked = orderRequestOf(body)
      await requireUsers(sandbox, tenant, asked.buyerId, asked.sellerId)
      return { tenant, ...asked }
    },
  })
}

/** `undefined` where there is one of this name already. */
async function insertOrder({ db, run }: Rows, input: Input): Promise<Order | undefined> {
  const { tenant, buyerId, sellerId, amount, currency, clientOrderRef } = input
  const now = new Date().toISOString()
  const query = db
    .insertInto('orders')
    .values({
      id: newId('ord'),
      tenant,
      buyer_id: buyerId,
      seller_id: sellerId,
      amount: minorUnitsOf(amount) ?? 0n,
      currency,
      client_order_ref: clientOrderRef,
      status: 'ORDER_CREATED',
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) => conflict.columns(['tenant', 'client_order_ref']).doNothing())
    .returningAll()
  const [row] = await run(query)
  return row && orderOf(row)
}

/** The order of this name, if it is the one that is asked for. */
async function sameOrder({ db, run }: Rows, input: Input): Promise<Order> {
  const { tenant, buyerId, sellerId, amount, currency, clientOrderRef } = input
  const query = db
    .selectFrom('orders')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('client_order_ref', '=', clientOrderRef)
  const [row] = await run(query)
  if (row === undefined) throw new Error('an order that was in the way is gone')
  const order = orderOf(row)
  const isSame =
    order.buyerId === buyerId &&
    order.sellerId === sellerId &&
    order.amount === minorUnitsOf(amount) &&
    order.currency === currency
  if (isSame) return order
  throw conflict('client_order_ref_reused', `${order.id} has this client_order_ref, and is another order.`)
}
