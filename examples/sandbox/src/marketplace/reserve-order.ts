import { rowsIn } from '../database/database.js'
import { transfer } from '../money/ledger.js'
import type { Sandbox } from '../sandbox.js'
import { guarded, inOneTransaction, type Route } from './guarding.js'
import { atFirstSight, onlyOrderNamed, requireOpen } from './looking.js'
import { type OrderName, shownOrder, takeOrder, theOrder } from './orders.js'

/** POST /orders/{id}/reserve: sets the buyer's money aside. An order that has it set aside answers how it stands. */
export function reserveOrder(sandbox: Sandbox): Route {
  const { hapax, database } = sandbox
  const options = inOneTransaction({ retention: '7d', compared: [] })
  const operation = hapax.operation('orders.reserve', options, (work, name: OrderName) =>
    work.commit(async ({ tx }) => {
      const rows = rowsIn(database, tx)
      const order = await takeOrder(rows, name, { from: 'ORDER_CREATED', status: 'FUNDS_RESERVED' })
      if (order === undefined) {
        const reserved = await theOrder(rows, name)
        requireOpen(reserved)
        return { status: 200, body: shownOrder(reserved) }
      }
      const { tenant, id, buyerId, amount, currency } = order
      const cause = `order_reserved:${id}`
      await transfer(rows, { tenant, cause, from: `user:${buyerId}`, to: `order:${id}`, amount, currency })
      return { status: 200, body: shownOrder(order) }
    }),
  )
  return guarded(sandbox, operation, { read: onlyOrderNamed(sandbox), look: atFirstSight(sandbox, requireOpen) })
}
