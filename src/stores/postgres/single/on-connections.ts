import type { SingleAttempt, SingleOutcome, SingleStep } from '../../../engine/store.js'
import type { Reservation } from '../../../engine/verdict.js'
import { completedIn, digestOf, type Found } from '../arguments.js'
import { type Connections, type Gave, inTurn, type Opening } from '../connections.js'
import { aboutScope, openExecutor, sessionExecutor } from '../executor.js'
import { inOneCommit, type OpenCommit } from '../in-one-commit.js'
import { finding, foundAmong, type RecordTable, recordTable } from '../record-table.js'
import type { Surroundings } from '../transaction.js'
import { rowsSavepoint } from '../undoable.js'
import type { CreationQuery } from './creation.js'
import { inJoined } from './joined.js'
import { joiningOf } from './joining.js'
import { type KeyLock, takenIn } from './key-lock.js'
import type { CompletedAt, Creation, OpenSingle, SingleTransactions } from './open-single.js'
import { single } from './single.js'

/** What it works with besides connections. */
export interface SingleSurroundings extends Surroundings {
  readonly lock: KeyLock
  readonly creation: CreationQuery
}

/** One request as one transaction, by statements of PostgreSQL. */
export async function singleOn<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  around: SingleSurroundings,
  reservation: Reservation,
  body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  return single(transactionsFor(connections, around, reservation), reservation, body, joins)
}

/**
 * Lock, record and savepoint travel with BEGIN, each a statement of its own: a statement sees what was there when it began, so
 * that one which locks and reads could miss what the last holder of the lock has committed.
 */
function transactionsFor<Tx>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, effects, rowSecurity, readBack, lock, creation }: SingleSurroundings,
  reservation: Reservation,
): SingleTransactions<Tx> {
  const digest = digestOf(reservation)
  const opening: Opening = {
    asked: [...aboutScope(rowSecurity, reservation.scope), lock.taking(digest), finding(queries, digest)],
    savepoint: rowsSavepoint,
  }

  return {
    committing: (run) => inOneCommit(connections, (open) => run(opened(open, open.opened)), opening),
    joining: (given, run) =>
      inJoined(joiningOf<Tx>(given), async (open) => run(opened(open, await inTurn(open.query, opening.asked)))),
  }

  function opened({ query, undoable }: Pick<OpenCommit<Tx>, 'query' | 'undoable'>, gave: Gave): OpenSingle<Tx> {
    const [locked = [], read = []] = gave.slice(-2)
    const { isTaken, now } = takenIn(locked)
    const found = foundAmong(reservation, read)
    const execute = openExecutor(query)
    const records = recordTable(queries, execute)
    // The statement says itself when a record was completed: with the time of the opening all is known before it is sent.
    const created = (completedAt: CompletedAt): Creation => ({
      last: [creation(digest, completedAt(now))],
      comesTo: ([rows = []]) => completedIn(rows[0] ?? {}),
    })
    return {
      isTaken,
      found,
      now,
      query,
      undoable,
      write: (found, next) => records.write(found, next),
      creation: created,
      async complete(claim, completedAt, outbox) {
        const written =
          found === undefined
            ? await sent(created(completedAt))
            : await rewritten(records, found, completedAt, await lock.now(query))
        if (written !== undefined) await effects.write(execute, claim, outbox)
        return written
      },
      async lastWritten(claim) {
        const found = await readBack.transaction(async ({ query }) => {
          await lock.wait(query, digest)
          return recordTable(queries, await sessionExecutor(query, rowSecurity, claim.scope)).lock(claim)
        })
        return found?.record.claimId === claim.claimId ? found : undefined
      },
    }

    async function sent({ last, comesTo }: Creation) {
      return comesTo(await inTurn(query, last))
    }
  }
}

/** One that is there already, as it was when it was judged. */
async function rewritten(records: RecordTable, found: Found, completedAt: CompletedAt, now: number) {
  const completed = completedAt(now)
  const written = await records.write(found, completed)
  return written && { expiresAt: completed.expiresAt, ...written }
}
