import type { Claim } from '../../../engine/record.js'
import type { Completed, SingleAttempt, SingleOutcome, SingleStep } from '../../../engine/store.js'
import * as transitions from '../../../engine/transitions.js'
import type { Reservation } from '../../../engine/verdict.js'
import { passing } from '../../../kernel/crash-points.js'
import { HapaxError, invariant, isHapaxError } from '../../../kernel/errors.js'
import { postgresBounds } from '../../../kernel/limits.js'
import { inTurn } from '../connections.js'
import { isTakenKey } from '../faults.js'
import type { Closing, Ending } from '../in-one-commit.js'
import { isCommitted } from '../phase.js'
import type { OpenSingle, SingleTransactions } from './open-single.js'

/**
 * One request as one transaction. The key's lock is taken without waiting and lasts as long as the transaction. It keeps out
 * requests of the same kind; one that reserves its key in the usual way is found when the record is written, and then all of
 * it rolls back. A record that is new and has no effects is written by what travels with COMMIT.
 *
 * A COMMIT whose reply was lost is settled by waiting for the key's lock, since a row that is not there yet has none, and
 * then as with any transaction of ours.
 */
export async function single<Tx, T>(
  transactions: SingleTransactions<Tx>,
  reservation: Reservation,
  body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  const run = (open: OpenSingle<Tx>) => ran(open, reservation, body)
  try {
    if (joins !== undefined) return await transactions.joining(joins, async (open) => written(open, await run(open)))
    const outcome = await transactions.committing(run)
    if (outcome.kind === 'committed') passing('single.committed')
    return outcome
  } catch (error) {
    throw isTakenKey(isHapaxError(error) ? error.cause : error) ? new HapaxError('claim_lost') : error
  }
}

type Ended<T> = Ending<SingleOutcome<T>> | Closing<SingleOutcome<T>>

/** Where the caller commits, nothing travels with it. */
async function written<T>({ query }: OpenSingle<unknown>, ended: Ended<T>): Promise<SingleOutcome<T>> {
  return 'last' in ended ? ended.comesTo(await inTurn(query, ended.last)) : ended.value
}

async function ran<Tx, T>(
  open: OpenSingle<Tx>,
  reservation: Reservation,
  body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
): Promise<Ended<T>> {
  const { isTaken, found } = open
  const { verdict, next } = transitions.reserve(found?.record, reservation, found?.now ?? open.now, () => unnumbered)
  if (!isTaken && (verdict.kind === 'new' || 'claim' in verdict)) return { value: { kind: 'judged', verdict: busy } }
  if (!('claim' in verdict)) {
    if (isTaken && found !== undefined && next !== undefined) await open.write(found, next)
    return { value: { kind: 'judged', verdict } }
  }
  passing('single.taken')
  const { claim, record } = verdict
  const step = await open.undoable(
    (tx) => body({ tx, claim, record }),
    ({ rows }) => rows === 'undo',
  )
  const { value, completion } = step
  const completedAt = (now: number) => {
    const completed = transitions.complete(record, claim, completion, now)
    invariant(completed, 'whoever has taken a record may complete it')
    return completed
  }
  const effects = step.rows === 'keep' ? (step.effects ?? []) : []
  if (found === undefined && effects.length === 0) {
    const { last, comesTo } = open.creation(completedAt)
    passing('single.written')
    return { last, comesTo: (gave) => committed(value, comesTo(gave)), found: () => foundBy(open, claim, value) }
  }
  const done = await open.complete(claim, completedAt, effects)
  if (done === undefined) throw new HapaxError('claim_lost')
  passing('single.written')
  return { value: committed(value, done), isCommitted: () => isCommitted(open, claim, done.committedIn) }
}

function committed<T>(value: T, { expiresAt }: Completed): SingleOutcome<T> {
  return { kind: 'committed', value, expiresAt }
}

/** Nobody heard in which transaction the record was created, but no other one has this claim. */
async function foundBy<T>(
  open: OpenSingle<unknown>,
  claim: Claim,
  value: T,
): Promise<{ readonly value: SingleOutcome<T> } | undefined> {
  const last = await open.lastWritten(claim)
  return last?.record.state === 'completed' ? { value: committed(value, last.record) } : undefined
}

/** A new record has no id before it is written. */
const unnumbered = 0

/** Another transaction has the key. */
const busy = { kind: 'in_progress', leaseLeftMs: postgresBounds.singleLeftMs } as const
