import type { NewEffect } from '../../../engine/effect-store.js'
import type { Claim, StoredRecord } from '../../../engine/record.js'
import type { Completed } from '../../../engine/store.js'
import type { Found, Written } from '../arguments.js'
import type { Asked, Gave } from '../connections.js'
import type { Closing, Ending, OpenCommit } from '../in-one-commit.js'
import type { ReadsBack } from '../phase.js'

/** Where one request may be one transaction. */
export interface SingleTransactions<Tx> {
  /** In one of the store's own, which it commits. */
  committing<T>(run: (open: OpenSingle<Tx>) => Promise<Ending<T> | Closing<T>>): Promise<T>
  /** In one that the caller opened, and will end himself. */
  joining<T>(given: unknown, run: (open: OpenSingle<Tx>) => Promise<T>): Promise<T>
}

/**
 * Such a transaction. It was opened by two statements: one took the key's lock if it was free, without waiting, and the other
 * read the record behind that.
 */
export interface OpenSingle<Tx> extends Pick<OpenCommit<Tx>, 'query' | 'undoable'>, ReadsBack {
  readonly isTaken: boolean
  readonly found: Found | undefined
  /** The store's time, for where nothing was found that says it. */
  readonly now: number
  /** Writes what judging the record has led to, if it is still the one that was found. */
  write(found: Found, next: StoredRecord): Promise<unknown>
  /** How a new record is written without effects. */
  creation(completedAt: CompletedAt): Creation
  /**
   * Writes a record and its effects: a new one, or one in the place of what was found. Gives nothing where that is no longer
   * what it was.
   */
  complete(
    claim: Claim,
    completedAt: CompletedAt,
    effects: readonly NewEffect[],
  ): Promise<(Completed & Written) | undefined>
}

/** The record as it is when it is completed at that time of the store. */
export type CompletedAt = (now: number) => StoredRecord

/** Statements that may travel with COMMIT. They fail where somebody else has the key, and so it commits nothing. */
export interface Creation {
  readonly last: readonly Asked[]
  readonly comesTo: (gave: Gave) => Completed & Written
}
