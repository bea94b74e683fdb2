import type { Claim } from '../../engine/record.js'
import type { Committed, Completed, Step } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Written } from './arguments.js'
import type { Connections, Session } from './connections.js'
import { type RowSecurity, sessionExecutor } from './executor.js'
import { isFarewell, isUndoneCommit, storeError } from './faults.js'
import type { Queries } from './queries.js'
import { type RecordTable, recordTable } from './record-table.js'

interface Surroundings {
  readonly queries: Queries
  readonly rowSecurity: RowSecurity
  /** Looks what became of a COMMIT: the store's own connections, whoever opened the transaction. */
  readonly readBack: Pick<Connections<unknown>, 'transaction'>
}

/**
 * Business rows and the record in one commit. The fenced write is the last statement before COMMIT and takes the row's
 * lock only then, so that renewals are never held up by a handler that takes its time.
 *
 * A COMMIT whose reply was lost is settled by reading the record under its row lock on another connection: the lock
 * waits for a commit that is still under way, and then the record says by the id of its last transaction whether it
 * was this one. Nothing is guessed, and nothing is cancelled.
 */
export async function inTransaction<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, rowSecurity, readBack }: Surroundings,
  claim: Claim,
  body: (tx: Tx) => Promise<Step<T>>,
): Promise<Committed<T>> {
  const tableOf = async (session: Pick<Session<Tx>, 'query'>) =>
    recordTable(queries, await sessionExecutor(session.query, rowSecurity, claim.scope))

  let thrown: { readonly byBody: unknown } | undefined
  let committing: (Committed<T> & Written) | undefined
  try {
    return await connections.transaction(async (session) => {
      const records = await tableOf(session)
      const { value, write } = await said(session)
      const written = await fencedWrite(records, claim, write)
      if (written === undefined) throw new HapaxError('claim_lost')
      committing = { value, ...written }
      return { value, expiresAt: written.expiresAt }
    })
  } catch (error) {
    // Refused at COMMIT, by a deferred constraint of the application's, say: it is certain that nothing happened.
    if (committing !== undefined && isUndoneCommit(error)) throw error
    if (committing !== undefined) {
      const { committedIn, ...committed } = committing
      if (await isCommitted(committedIn)) return committed
    }
    // What the application threw is the application's: it was rolled back. A lost connection it only passed on.
    throw thrown !== undefined && thrown.byBody === error && !isFarewell(error) ? error : storeError(error)
  }

  async function said(session: Session<Tx>): Promise<Step<T>> {
    try {
      return await body(session.tx)
    } catch (error) {
      thrown = { byBody: error }
      throw error
    } finally {
      session.seal()
    }
  }

  async function isCommitted(committedIn: string): Promise<boolean> {
    try {
      const found = await readBack.transaction(async (session) => (await tableOf(session)).lock(claim))
      return found?.record.claimId === claim.claimId && found.committedIn === committedIn
    } catch (error) {
      throw new HapaxError(
        'store_failed',
        'The connection was lost at COMMIT, and nobody could look what became of it.',
        {
          cause: error,
        },
      )
    }
  }
}

async function fencedWrite(
  records: RecordTable,
  claim: Claim,
  write: Step<unknown>['write'],
): Promise<(Completed & Written) | undefined> {
  if (write.kind === 'complete') return records.complete(claim, write)
  const found = await records.lock(claim)
  const next = found && transitions.checkpoint(found.record, claim, write, found.now)
  const written = found && next && (await records.write(found, next))
  return written && { expiresAt: next?.expiresAt, ...written }
}
