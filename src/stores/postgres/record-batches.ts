import type { RecordName } from '../../engine/record.js'
import type { Completed } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import type { SqlValue } from '../sql/row.js'
import {
  completedIn,
  digestOf,
  type Found,
  foundIn,
  ofCompletion,
  ofRenewal,
  ofReservation,
  type Written,
} from './arguments.js'
import { arrayOf } from './array.js'
import type { BatchQueries } from './batch-queries.js'
import type { Completing, RecordBatches, Renewing } from './batching-table.js'
import type { Query, Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'
import type { Inserted } from './record-table.js'

/** The statements on many records at once, by which records travel together. */
export function recordBatches(queries: BatchQueries, execute: Execute): RecordBatches {
  /** What the statement gave for each operation. The first value of each is the digest of its record. */
  async function all<Result>(
    query: Query,
    operations: readonly (readonly SqlValue[])[],
    resultOf: (row: Row) => Result | undefined,
  ): Promise<readonly (Result | undefined)[]> {
    const rows = new Map<unknown, Row>()
    for (const row of await execute(everyScope, query, transposed(operations))) rows.set(row.digest, row)
    return operations.map(([digest]) => {
      const row = rows.get(spelled(digest as Buffer))
      return row && resultOf(row)
    })
  }

  return {
    insert: (reservations: readonly Reservation[]) =>
      all<Inserted>(queries.reserve, reservations.map(ofReservation), insertedIn),
    find: (names: readonly RecordName[]) => all(queries.read, names.map(digested), lightIn),
    renew: (renewals: readonly Renewing[]) =>
      all<true>(
        queries.renew,
        renewals.map(({ claim, leaseMs }) => ofRenewal(claim, leaseMs)),
        () => true,
      ),
    complete: (completions: readonly Completing[]) =>
      all<Completed & Written>(
        queries.complete,
        completions.map(({ claim, completion }) => ofCompletion(claim, completion)),
        completedIn,
      ),
  }
}

function insertedIn(row: Row): Inserted {
  if (row.fresh_id === null) return { kind: 'known', found: lightIn(row) }
  return { kind: 'new', id: Number(row.fresh_id), now: Number(row.now) }
}

/** A body that is too large to travel with others is read alone. */
function lightIn(row: Row): Found | undefined {
  return row.is_large === 't' ? undefined : foundIn(row)
}

function digested(name: RecordName): readonly SqlValue[] {
  return [digestOf(name)]
}

/** A digest as PostgreSQL spells it. */
function spelled(digest: Buffer): string {
  return `\\x${digest.toString('hex')}`
}

/** From one list of values per operation to one array per parameter. */
function transposed(operations: readonly (readonly SqlValue[])[]): readonly string[] {
  const [first = []] = operations
  return first.map((_, index) => arrayOf(operations.map((values) => values[index] ?? null)))
}
