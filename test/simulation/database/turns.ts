import { isFinal, type StoredEffect } from '../../../src/engine/effect-store.js'
import { type Turns, turns } from '../../../src/stores/postgres/effects/turns.js'
import type { Line } from './line.js'
import { allSeen, type By, holderOf, put, seen } from './table.js'

/** Orders of effects, as an effect's state names them. */
export type Orders = readonly string[]

/** Whose turn it is, as the PostgreSQL store finds out; what it asks about that is answered by rows. */
export function simulatedTurns(line: Line): Turns<Orders> {
  const { effects, waiting } = line.database.tables

  /** Tells the first of each that is not final, if it still waits. Whoever is locked is left to who looks. */
  function told(orders: Orders): number {
    let count = 0
    for (const order of new Set(orders)) {
      const first = allSeen(effects, undefined).find((effect) => orderOf(effect) === order && !isFinal(effect.state))
      if (first === undefined || !isWaiting(line, first, undefined)) continue
      if (holderOf(effects, first.id, undefined) !== undefined) continue
      put(waiting, first.id, undefined, undefined)
      count++
    }
    return count
  }

  return turns<Orders>({
    tell: (orders) => line.ask(() => `tells the next of ${orders}`, { run: () => told(orders) }),
    look(after, most) {
      const looking = {
        run() {
          const behind = [...new Set(allSeen(waiting, undefined))].filter((order) => order > after).sort()
          const orders = behind.slice(0, most)
          return { told: told(orders), next: orders[most - 1] }
        },
      }
      // Where nobody waits, whoever looks changes nothing.
      return line.ask(() => 'looks whose turn it is', looking, waiting.size === 0 ? 'read' : undefined)
    },
  })
}

/** Begins with the scope, so that two scopes never share one. */
function orderOf({ scope, order }: Pick<StoredEffect, 'scope' | 'order'>): string | undefined {
  return order === undefined ? undefined : `${scope} ${order}`
}

/** The orders of those of these effects that are final. */
export function endedOrders({ database }: Line, ids: readonly number[], by: By): Orders | undefined {
  const orders = ids.flatMap((id) => {
    const effect = seen(database.tables.effects, id, by)
    return effect !== undefined && isFinal(effect.state) ? (orderOf(effect) ?? []) : []
  })
  return orders.length === 0 ? undefined : orders
}

/** Whether it is not known to be its turn. */
export function isWaiting({ database }: Line, { id }: Pick<StoredEffect, 'id'>, by: By): boolean {
  return seen(database.tables.waiting, id, by) !== undefined
}

/** One that has just been written waits if another of its order was written before it, and is not final. */
export function queued({ database }: Line, effect: StoredEffect, by: By): void {
  const { effects, waiting } = database.tables
  const order = orderOf(effect)
  if (order === undefined) return
  const isBehind = allSeen(effects, by).some(
    (other) => other.id < effect.id && orderOf(other) === order && !isFinal(other.state),
  )
  if (isBehind) put(waiting, effect.id, order, by)
}

/** One that is gone waits for nobody. */
export function dequeued({ database }: Pick<Line, 'database'>, effect: StoredEffect): void {
  const { waiting } = database.tables
  if (waiting.has(effect.id)) put(waiting, effect.id, undefined, undefined)
}
