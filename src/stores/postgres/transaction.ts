import type { Claim } from '../../engine/record.js'
import type { Committed, Completed, Step } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Connections, Session } from './connections.js'
import { isConnectionLost, storeError } from './faults.js'
import type { Queries } from './queries.js'
import { type RecordTable, recordTable } from './record-table.js'

/**
 * Business rows and the record in one commit. The fenced write is the last statement before COMMIT and takes the row's
 * lock only then, so that renewals are never held up by a handler that takes its time.
 *
 * A COMMIT whose reply was lost is settled by reading the record under its row lock on another connection: the lock
 * waits for a commit that is still under way, and then the record says what happened. Nothing is guessed.
 */
export async function inTransaction<Tx, T>(
  connections: Connections<Tx>,
  queries: Queries,
  claim: Claim,
  body: (tx: Tx) => Promise<Step<T>>,
): Promise<Committed<T>> {
  let bodyError: unknown
  let committing: Committed<T> | undefined
  try {
    return await connections.session(async (session) => {
      await session.query('BEGIN', [])
      try {
        const { value, write } = await body(session.tx).catch((error: unknown) => {
          bodyError = error
          throw error
        })
        const written = await fencedWrite(tableOf(session, queries), claim, write)
        if (written === false) throw new HapaxError('claim_lost')
        committing = { value, expiresAt: written.expiresAt }
      } catch (error) {
        await session.query('ROLLBACK', []).catch(() => undefined)
        throw error
      }
      await session.query('COMMIT', [])
      return committing
    })
  } catch (error) {
    // What the application threw is the application's, unless the connection broke under it.
    if (bodyError !== undefined && error === bodyError && !isConnectionLost(error)) throw error
    if (committing !== undefined && (await isCommitted(connections, queries, claim))) return committing
    throw storeError(error)
  }
}

/** A checkpoint leaves the record in progress, so only its revision could tell; a completion tells by itself. */
async function isCommitted<Tx>(connections: Connections<Tx>, queries: Queries, claim: Claim): Promise<boolean> {
  return connections.session(async (session) => {
    await session.query('BEGIN', [])
    const found = await tableOf(session, queries).read(claim, 'lock')
    await session.query('COMMIT', [])
    return found?.record.state === 'completed' && found.record.claimId === claim.claimId
  })
}

async function fencedWrite(
  records: RecordTable,
  claim: Claim,
  write: Step<unknown>['write'],
): Promise<false | Completed> {
  if (write.kind === 'complete') return records.complete(claim, write)
  const found = await records.read(claim, 'lock')
  const next = found && transitions.checkpoint(found.record, claim, write, found.now)
  if (found === undefined || next === undefined || !(await records.write(found, next))) return false
  return { expiresAt: next.expiresAt }
}

function tableOf<Tx>(session: Session<Tx>, queries: Queries): RecordTable {
  return recordTable(queries, session.query)
}
