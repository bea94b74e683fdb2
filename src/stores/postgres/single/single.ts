import type { Claim, StoredRecord } from '../../../engine/record.js'
import type { Completed, SingleAttempt, SingleOutcome, SingleStep } from '../../../engine/store.js'
import * as transitions from '../../../engine/transitions.js'
import type { Reservation } from '../../../engine/verdict.js'
import { passing } from '../../../kernel/crash-points.js'
import { HapaxError, invariant, isHapaxError } from '../../../kernel/errors.js'
import { postgresBounds } from '../../../kernel/limits.js'
import { completedIn, digestOf, type Found, type Written } from '../arguments.js'
import { type Connections, inTurn, type Opening } from '../connections.js'
import { aboutScope, openExecutor, sessionExecutor } from '../executor.js'
import { isTakenKey } from '../faults.js'
import { type Closing, type Ending, inOneCommit, type OpenCommit } from '../in-one-commit.js'
import { finding, foundAmong, type RecordTable, recordTable } from '../record-table.js'
import type { Surroundings } from '../transaction.js'
import { rowsSavepoint } from '../undoable.js'
import type { Creation } from './creation.js'
import { inJoined } from './joined.js'
import { type KeyLock, takenIn } from './key-lock.js'

/**
 * One request as one transaction. The key's lock is taken without waiting and lasts as long as the transaction. It keeps out
 * requests of the same kind; one that reserves its key in the usual way is found when the record is written, and then all of
 * it rolls back.
 *
 * Lock, record and savepoint travel with BEGIN, each a statement of its own: a statement sees what was there when it began, so
 * that one which locks and reads could miss what the last holder of the lock has committed. A record that is new is inserted by
 * the statement that travels with COMMIT, and fails where somebody else has the key.
 *
 * A COMMIT whose reply was lost is settled by waiting for the key's lock, since a row that is not there yet has none, and
 * then as with any transaction of ours.
 */
export async function single<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, effects, rowSecurity, readBack, lock, creation }: SingleSurroundings,
  reservation: Reservation,
  body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  const digest = digestOf(reservation)
  const opening: Opening = {
    asked: [...aboutScope(rowSecurity, reservation.scope), lock.taking(digest), finding(queries, digest)],
    savepoint: rowsSavepoint,
  }
  try {
    if (joins !== undefined) return await inJoined<Tx, SingleOutcome<T>>(joins, joined)
    const outcome = await inOneCommit(connections, run, opening)
    if (outcome.kind === 'committed') passing('single.committed')
    return outcome
  } catch (error) {
    throw isTakenKey(isHapaxError(error) ? error.cause : error) ? new HapaxError('claim_lost') : error
  }

  async function joined(open: Omit<OpenCommit<Tx>, 'opened'>): Promise<SingleOutcome<T>> {
    const ended = await run({ ...open, opened: await inTurn(open.query, opening.asked) })
    return 'last' in ended ? ended.comesTo(await inTurn(open.query, ended.last)) : ended.value
  }

  async function run({ opened, query, undoable }: OpenCommit<Tx>): Promise<Ended<T>> {
    const [locked = [], read = []] = opened.slice(-2)
    const { isTaken, now } = takenIn(locked)
    const found = foundAmong(reservation, read)
    const execute = openExecutor(query)
    const records = recordTable(queries, execute)
    const { verdict, next } = transitions.reserve(found?.record, reservation, found?.now ?? now, () => unnumbered)
    if (!isTaken && (verdict.kind === 'new' || 'claim' in verdict)) return { value: { kind: 'judged', verdict: busy } }
    if (!('claim' in verdict)) {
      if (isTaken && found !== undefined && next !== undefined) await records.write(found, next)
      return { value: { kind: 'judged', verdict } }
    }
    passing('single.taken')
    const { claim, record } = verdict
    const { value, rows, completion, ...wanted } = await undoable(
      (tx) => body({ tx, claim, record }),
      ({ rows }) => rows === 'undo',
    )
    const completedAt = (now: number) => {
      const completed = transitions.complete(record, claim, completion, now)
      invariant(completed, 'whoever has taken a record may complete it')
      return completed
    }
    const committed = ({ expiresAt }: Completed) => ({ kind: 'committed', value, expiresAt }) as const
    const outbox = rows === 'keep' ? (wanted.effects ?? []) : []
    const created = found === undefined ? creation(digest, completedAt(now)) : undefined
    if (created !== undefined && outbox.length === 0) {
      passing('single.written')
      return {
        last: [created],
        comesTo: ([rows = []]) => committed(completedIn(rows[0] ?? {})),
        async found() {
          const record = await lastWritten(claim)
          return record?.state === 'completed' ? { value: committed(record) } : undefined
        },
      }
    }
    const written =
      created === undefined
        ? await rewritten(records, found as Found, completedAt(await lock.now(query)))
        : completedIn((await query(created.query, created.values))[0] ?? {})
    await effects.write(execute, claim, outbox)
    passing('single.written')
    const isCommitted = async () => (await lastWritten(claim))?.committedIn === written.committedIn
    return { value: committed(written), isCommitted }
  }

  /** What stands there under this claim, once nobody has the key. */
  async function lastWritten(claim: Claim): Promise<(StoredRecord & Partial<Written>) | undefined> {
    const found = await readBack.transaction(async ({ query }) => {
      await lock.wait(query, digest)
      return recordTable(queries, await sessionExecutor(query, rowSecurity, claim.scope)).lock(claim)
    })
    if (found?.record.claimId !== claim.claimId) return undefined
    const { record, committedIn } = found
    return { ...record, ...(committedIn !== undefined && { committedIn }) }
  }
}

type Ended<T> = Ending<SingleOutcome<T>> | Closing<SingleOutcome<T>>

/** What it works with besides connections. */
export interface SingleSurroundings extends Surroundings {
  readonly lock: KeyLock
  readonly creation: Creation
}

/** One that is there already, as it was when it was judged. */
async function rewritten(records: RecordTable, found: Found, completed: StoredRecord): Promise<Completed & Written> {
  const written = await records.write(found, completed)
  if (written === undefined) throw new HapaxError('claim_lost')
  return { expiresAt: completed.expiresAt, ...written }
}

/** A new record has no id before it is written. */
const unnumbered = 0

/** Another transaction has the key. */
const busy = { kind: 'in_progress', leaseLeftMs: postgresBounds.singleLeftMs } as const
