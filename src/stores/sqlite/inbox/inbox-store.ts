import type { InboxStore, Receipt, ReceivedEvent, Testimony } from '../../../engine/inbox-store.js'
import { passing } from '../../../kernel/crash-points.js'
import type { Port } from '../port.js'
import type { SqliteTransaction } from '../statement.js'

/**
 * The inbox of one file. The event is inserted first. There is one writer at a time, so that another delivery of the same
 * event waits until this transaction has ended, for as long as anybody waits for the database, and is then a duplicate.
 */
export function sqliteInbox({ stepOf, hold, ask }: Port): InboxStore<SqliteTransaction> {
  return {
    receive: <T>(event: ReceivedEvent, body: (tx: SqliteTransaction) => Promise<Said<T>>) =>
      hold<Receipt<T>>(async (tx) => {
        if (!(await ask('insertEvent', event))) {
          return async () => {
            await ask('rollback')
            return { kind: 'duplicate' }
          }
        }
        const { value, testimonies } = await body(tx)
        return async () => {
          passing('inbox.inserted')
          await ask('commitEvent', testimonies)
          return { kind: 'processed', value }
        }
      }),
    reap: stepOf('inbox.reap'),
  }
}

interface Said<T> {
  readonly value: T
  readonly testimonies: readonly Testimony[]
}
