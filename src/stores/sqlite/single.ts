import type { SingleAttempt, SingleOutcome, SingleStep, Store } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { passing } from '../../kernel/crash-points.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Port } from './port.js'
import type { SqliteTransaction } from './statement.js'

/**
 * One request as one transaction. The key's lock is the write lock of the file: whoever else wants to write waits for it,
 * within the bounds of any wait for the database. The reservation is written inside the transaction, so that rows of the
 * application can refer to the record, and is completed before COMMIT: nobody else ever sees it.
 */
export function singleOn({ hold, ask }: Port): NonNullable<Store<SqliteTransaction>['single']> {
  return async <T>(
    reservation: Reservation,
    body: (at: SingleAttempt<SqliteTransaction>) => Promise<SingleStep<T>>,
    joins?: unknown,
  ) => {
    if (joins !== undefined) throw new HapaxError('transaction_unsupported', joinsNothing)
    return hold<SingleOutcome<T>>(async (tx) => {
      const verdict = await ask('take', reservation)
      if (!('claim' in verdict)) return async () => ({ kind: 'judged', verdict })
      passing('single.taken')
      const { claim, record } = verdict
      const { value, rows, completion, effects = [] } = await body({ tx, claim, record })
      return async () => {
        passing('single.written')
        const written = await ask('commitSingle', claim, rows, completion, effects)
        if (written === false) throw new HapaxError('claim_lost')
        passing('single.committed')
        return { kind: 'committed', value, expiresAt: written.expiresAt }
      }
    })
  }
}

const joinsNothing =
  'The SQLite store runs every transaction on the connection of its own thread, and cannot join one that was opened elsewhere. Let it open the transaction: use the tx that the body is given.'
