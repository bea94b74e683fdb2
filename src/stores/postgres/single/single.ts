import type { Claim } from '../../../engine/record.js'
import type { SingleAttempt, SingleOutcome, SingleStep } from '../../../engine/store.js'
import * as transitions from '../../../engine/transitions.js'
import type { Reservation } from '../../../engine/verdict.js'
import { passing } from '../../../kernel/crash-points.js'
import { HapaxError, invariant } from '../../../kernel/errors.js'
import { postgresBounds } from '../../../kernel/limits.js'
import type { Written } from '../arguments.js'
import type { Connections, Session } from '../connections.js'
import { sessionExecutor } from '../executor.js'
import { inOneCommit, type OpenCommit } from '../in-one-commit.js'
import { recordTable } from '../record-table.js'
import type { Surroundings } from '../transaction.js'
import { inJoined } from './joined.js'
import type { KeyLock } from './key-lock.js'

/** What a request came to, and, where it wrote its record, in which transaction. */
interface Came<T> {
  readonly outcome: SingleOutcome<T>
  readonly written?: Written & { readonly claim: Claim }
}

/**
 * One request as one transaction. The key's lock is taken without waiting and lasts as long as the transaction. It keeps out
 * requests of the same kind; one that reserves its key in the usual way is found when the record is written, and then all of
 * it rolls back.
 *
 * A COMMIT whose reply was lost is settled by waiting for the key's lock, since a row that is not there yet has none, and
 * then as with any transaction of ours.
 */
export async function single<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, effects, rowSecurity, readBack, lock }: Surroundings & { readonly lock: KeyLock },
  reservation: Reservation,
  body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  const executorOf = (query: Session<unknown>['query']) => sessionExecutor(query, rowSecurity, reservation.scope)
  if (joins !== undefined) return inJoined<Tx, SingleOutcome<T>>(joins, async (open) => (await run(open)).outcome)
  const outcome = await inOneCommit(connections, async (open: OpenCommit<Tx>) => {
    const { outcome, written } = await run(open)
    return { value: outcome, ...(written && { isCommitted: () => isCommitted(written) }) }
  })
  if (outcome.kind === 'committed') passing('single.committed')
  return outcome

  async function run({ query, undoable }: OpenCommit<Tx>): Promise<Came<T>> {
    const execute = await executorOf(query)
    const records = recordTable(queries, execute)
    const { isTaken, now } = await lock.take(query, reservation)
    const found = await records.find(reservation)
    const { verdict, next } = transitions.reserve(found?.record, reservation, found?.now ?? now, () => unnumbered)
    if (!isTaken && (verdict.kind === 'new' || 'claim' in verdict))
      return { outcome: { kind: 'judged', verdict: busy } }
    if (!('claim' in verdict)) {
      if (isTaken && found !== undefined && next !== undefined) await records.write(found, next)
      return { outcome: { kind: 'judged', verdict } }
    }
    passing('single.taken')
    const { claim, record } = verdict
    const step = await undoable(
      (tx) => body({ tx, claim, record }),
      ({ rows }) => rows === 'undo',
    )
    const completed = transitions.complete(record, claim, step.completion, await lock.now(query))
    invariant(completed, 'whoever has taken a record may complete it')
    const written = found === undefined ? await records.create(completed) : await records.write(found, completed)
    if (written === undefined) throw new HapaxError('claim_lost')
    if (step.rows === 'keep') await effects.write(execute, claim, step.effects ?? [])
    passing('single.written')
    const { value } = step
    const { expiresAt } = completed
    return { outcome: { kind: 'committed', value, expiresAt }, written: { ...written, claim } }
  }

  async function isCommitted({ claim, committedIn }: NonNullable<Came<T>['written']>): Promise<boolean> {
    const found = await readBack.transaction(async ({ query }) => {
      await lock.wait(query, claim)
      return recordTable(queries, await executorOf(query)).lock(claim)
    })
    return found?.record.claimId === claim.claimId && found.committedIn === committedIn
  }
}

/** A new record has no id before it is written. */
const unnumbered = 0

/** Another transaction has the key. */
const busy = { kind: 'in_progress', leaseLeftMs: postgresBounds.singleLeftMs } as const
