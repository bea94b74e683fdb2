import { effectBounds } from '../../../kernel/limits.js'

/**
 * Whose turn it is in an order. Whoever makes an effect final tells the next, after that has committed. One that is written
 * in that very moment may be told by nobody, and so may all whose teller dies: so they are looked after as well. Nobody is
 * forgotten, and nobody comes too early.
 */
export interface Turns<Orders> {
  /** In these orders one has become final. */
  tell(orders: Orders | undefined): Promise<void>
  /** What can be claimed; and where there is room for more, also those whom nobody told, but should have. */
  claimed<T>(limit: number, claim: (limit: number) => Promise<readonly T[]>): Promise<readonly T[]>
  /** Looks after some orders, each time after others: somebody does, also where every claim is full. */
  look(): Promise<void>
}

/** What is asked about turns, in the way of a server. */
export interface TurnStatements<Orders> {
  tell(orders: Orders): Promise<unknown>
  /** Tells those whose turn it is in so many orders behind one, and where to go on. */
  look(after: string, most: number): Promise<{ readonly told: number; readonly next: string | undefined }>
}

export function turns<Orders>(statements: TurnStatements<Orders>): Turns<Orders> {
  let lookedTo = ''

  /** Says whether there is anybody more to claim. */
  async function look(): Promise<boolean> {
    const { told, next = '' } = await statements.look(lookedTo, effectBounds.orders)
    lookedTo = next
    return told > 0
  }

  return {
    async tell(orders) {
      if (orders === undefined) return
      // What has ended has ended. Whoever could not be told is found by who looks.
      await statements.tell(orders).catch(() => undefined)
    },
    async claimed(limit, claim) {
      const found = await claim(limit)
      if (found.length >= limit) return found
      try {
        return (await look()) ? [...found, ...(await claim(limit - found.length))] : found
      } catch {
        // What was claimed is not lost by an error here.
        return found
      }
    },
    async look() {
      await look().catch(() => false)
    },
  }
}
