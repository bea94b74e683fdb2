import type { Jsonified, Work } from 'hapax'
import { type Rows, rowsIn, type Transaction } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { busy } from './problems.js'

/** How a request comes by what it moves: it looks, and takes what it saw, unless somebody else was quicker. */

interface Taking<Reply, T> {
  /** The name of the phase that takes it. */
  readonly phase: string
  /** Answers where there is nothing to do, and throws where nothing may be done; `undefined` lets it be taken. */
  look(patience: Patience): Promise<Reply | undefined>
  /** Takes it, if it is as it was when it was looked at; `undefined` is for whoever was beaten to it. */
  take(rows: Rows): Promise<T | undefined>
}

/** How long a request waits for others that are at the same thing, all looks together. */
export interface Patience {
  readonly isOver: boolean
}

const patienceMs = 3_000

/** What was taken, or what there is to say instead. */
type Taken<Reply, T> =
  | { readonly kind: 'there'; readonly reply: Reply }
  | { readonly kind: 'taken'; readonly by: Awaited<Jsonified<T>> }

/**
 * Whoever is beaten looks again. The phase throws then and never was, so that what is refused after another look leaves
 * nothing on record, and its key free. A request whose phase is on record took it in an earlier attempt, and goes on with it.
 */
export async function taken<Reply, T>(
  { database }: Pick<Sandbox, 'database'>,
  work: Work<Transaction>,
  { phase, look, take }: Taking<Reply, T>,
): Promise<Taken<Reply, T>> {
  const until = performance.now() + patienceMs
  const patience: Patience = {
    get isOver() {
      return performance.now() > until
    },
  }
  for (;;) {
    const reply = isNew(work) ? await look(patience) : undefined
    if (reply !== undefined) return { kind: 'there', reply }
    try {
      const by = await work.transaction<T>(phase, async ({ tx }) => {
        const mine = await take(rowsIn(database, tx))
        if (mine === undefined) throw new Beaten()
        return mine
      })
      return { kind: 'taken', by }
    } catch (error) {
      if (!(error instanceof Beaten)) throw error
      if (patience.isOver) throw busy()
    }
  }
}

class Beaten extends Error {}

/** Whether nothing of an operation is on record yet: only then it is for its handler to say whether it may begin. */
function isNew(work: { readonly recoveryPoint: string }): boolean {
  return work.recoveryPoint === 'started'
}
