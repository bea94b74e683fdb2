import { effectBounds } from '../../../kernel/limits.js'
import type { SqlValue } from '../../sql/row.js'
import type { Query, Row } from '../connections.js'
import type { TurnQueries } from './turn-queries.js'

/**
 * Whose turn it is in an order. Whoever makes an effect final tells the next, after that has committed. One that is written
 * in that very moment may be told by nobody, and so may all whose teller dies: so they are looked after as well. Nobody is
 * forgotten, and nobody comes too early.
 */
export interface Turns {
  /** In these orders, as PostgreSQL spells a list of them, one has become final. */
  tell(orders: string | null | undefined): Promise<void>
  /** Looks after some orders, each time after others. Says whether there is anybody more to claim. */
  look(): Promise<boolean>
}

type Ask = (query: Query, ...values: readonly SqlValue[]) => Promise<readonly Row[]>

export function turns(queries: TurnQueries, ask: Ask): Turns {
  let lookedTo = ''
  return {
    async tell(orders) {
      if (orders == null || orders === '{}') return
      // What has ended has ended. Whoever could not be told is found by who looks.
      await ask(queries.tell, orders).catch(() => undefined)
    },
    async look() {
      const [row] = await ask(queries.look, lookedTo, effectBounds.orders)
      lookedTo = row?.next ?? ''
      return Number(row?.told) > 0
    },
  }
}
