import type { Claim } from '../../engine/record.js'
import type { Committed, Completed, Step } from '../../engine/store.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Found, Written } from './arguments.js'
import type { Ending, OpenCommit } from './in-one-commit.js'

/** What a phase asks of its server, besides what the application says there. */
export interface PhaseStatements extends ReadsBack {
  /** Writes the record and its effects if the claim still holds, and else gives nothing: then all of it rolls back. */
  write(claim: Claim, step: Step<unknown>): Promise<(Completed & Written) | undefined>
}

/** Looks from outside of a transaction what became of its COMMIT. */
export interface ReadsBack {
  /** What stands there under this claim, once no transaction that could have written it is under way. */
  lastWritten(claim: Claim): Promise<LastWritten | undefined>
}

/** A record, and the transaction that wrote it last. */
export type LastWritten = Pick<Found, 'record' | 'committedIn'>

/**
 * Business rows, effects and the record in one commit. The store writes when the application has said all, so that renewals are
 * never held up by a handler that takes its time.
 *
 * A COMMIT whose reply was lost is settled by reading the record: it says by the id of its last transaction whether it was
 * this one.
 */
export async function phase<Tx, T>(
  { said }: Pick<OpenCommit<Tx>, 'said'>,
  statements: PhaseStatements,
  claim: Claim,
  body: (tx: Tx) => Promise<Step<T>>,
): Promise<Ending<Committed<T>>> {
  const step = await said(body)
  const written = await statements.write(claim, step)
  if (written === undefined) throw new HapaxError('claim_lost')
  const { committedIn, expiresAt } = written
  return {
    value: { value: step.value, expiresAt },
    isCommitted: () => isCommitted(statements, claim, committedIn),
  }
}

/** Whether that transaction was the last to write under this claim. */
export async function isCommitted(from: ReadsBack, claim: Claim, committedIn: string): Promise<boolean> {
  return (await from.lastWritten(claim))?.committedIn === committedIn
}
