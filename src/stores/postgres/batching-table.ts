import type { Claim, RecordName } from '../../engine/record.js'
import type { Completed, Completion } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { postgresBounds } from '../../kernel/limits.js'
import type { SqlValue } from '../sql/row.js'
import {
  completedIn,
  copied,
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
import type { Query, Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'
import { isRefusal } from './faults.js'
import { lanes, type Outcome } from './lanes.js'
import type { Inserted, RecordTable } from './record-table.js'

/**
 * The same table with group commit: reservations, completions, renewals and reads that arrive together travel as one
 * statement each. Whatever a batch could not do is done alone, with the table's own statements: a record that somebody
 * else holds, a claim that is lost, a batch that was refused because of one of its rows.
 */
export function batchingTable(
  table: RecordTable,
  { queries, execute, patienceMs }: { queries: BatchQueries; execute: Execute; patienceMs: number },
): RecordTable {
  interface Kind<Operation, Result> {
    readonly query: Query
    readonly valuesOf: (operation: Operation) => readonly SqlValue[]
    readonly nameOf: (operation: Operation) => RecordName
    readonly alone: (operation: Operation) => Promise<Result>
    readonly resultOf: (row: Row) => Result | undefined
    /** Whether a result answers another operation on the same record too. Otherwise that one comes with the next batch. */
    readonly isShared: (result: Result) => boolean
    /** Only for readings: what a batch did not give is read once, alone, and everybody who asked gets a copy. */
    readonly copyOf?: (result: Result) => Result
  }

  function batched<Operation, Result>(kind: Kind<Operation, Result>): (operation: Operation) => Promise<Result> {
    const { query, valuesOf, nameOf, alone, resultOf, isShared, copyOf } = kind

    async function together(operations: readonly Operation[]): Promise<readonly Outcome<Result>[]> {
      // A statement must not meet a record twice.
      const firsts = new Map<string, Operation>()
      for (const operation of operations) {
        const digest = spelled(nameOf(operation))
        if (!firsts.has(digest)) firsts.set(digest, operation)
      }
      const rows = await execute(everyScope, query, transposed([...firsts.values()].map(valuesOf)))
      const byDigest = new Map(rows.map((row) => [row.digest, row]))
      const readings = new Map<string, Promise<Result>>()
      return operations.map((operation) => {
        const digest = spelled(nameOf(operation))
        const isFirst = firsts.get(digest) === operation
        const row = byDigest.get(digest)
        // For each anew, since nobody may share his bytes with somebody else.
        const result = row && resultOf(row)
        if (result === undefined && copyOf !== undefined) {
          const reading = readings.get(digest) ?? alone(operation)
          readings.set(digest, reading)
          return { kind: 'done', result: reading.then(copyOf) }
        }
        if (result === undefined) return { kind: isFirst ? 'alone' : 'again' }
        return isFirst || isShared(result) ? { kind: 'done', result } : { kind: 'again' }
      })
    }
    return lanes({ alone, together, isUndone: isRefusal, patienceMs })
  }

  const reserve = batched<Reservation, Inserted>({
    query: queries.reserve,
    valuesOf: ofReservation,
    nameOf: (reservation) => reservation,
    alone: (reservation) => table.insert(reservation),
    resultOf: (row) =>
      row.fresh_id === null
        ? { kind: 'known', found: lightIn(row) }
        : { kind: 'new', id: Number(row.fresh_id), now: Number(row.now) },
    isShared: ({ kind }) => kind === 'known',
  })
  const find = batched<RecordName, Found | undefined>({
    query: queries.read,
    valuesOf: (name) => [digestOf(name)],
    nameOf: (name) => name,
    alone: (name) => table.find(name),
    resultOf: lightIn,
    isShared: () => true,
    copyOf: (found) => found && copied(found),
  })
  const renew = batched<{ readonly claim: Claim; readonly leaseMs: number }, boolean>({
    query: queries.renew,
    valuesOf: ({ claim, leaseMs }) => ofRenewal(claim, leaseMs),
    nameOf: ({ claim }) => claim,
    alone: ({ claim, leaseMs }) => table.renew(claim, leaseMs),
    resultOf: () => true,
    isShared: () => false,
  })
  const complete = batched<
    { readonly claim: Claim; readonly completion: Completion },
    (Completed & Written) | undefined
  >({
    query: queries.complete,
    valuesOf: ({ claim, completion }) => ofCompletion(claim, completion),
    nameOf: ({ claim }) => claim,
    alone: ({ claim, completion }) => table.complete(claim, completion),
    resultOf: completedIn,
    isShared: () => false,
  })

  return {
    ...table,
    insert: reserve,
    find,
    renew: (claim, leaseMs) => renew({ claim, leaseMs }),
    complete: (claim, completion) =>
      isLarge(completion) ? table.complete(claim, completion) : complete({ claim, completion }),
  }
}

/** A body that is too large to travel with others is read alone. */
function lightIn(row: Row): Found | undefined {
  return row.is_large === 't' ? undefined : foundIn(row)
}

function isLarge({ answer }: Completion): boolean {
  return answer.kind === 'kept' && answer.body.byteLength > postgresBounds.batchedBodyBytes
}

/** A digest as PostgreSQL spells it. */
function spelled(name: RecordName): string {
  return `\\x${digestOf(name).toString('hex')}`
}

/** From one list of values per operation to one array per parameter. */
function transposed(operations: readonly (readonly SqlValue[])[]): readonly string[] {
  const [first = []] = operations
  return first.map((_, index) => arrayOf(operations.map((values) => values[index] ?? null)))
}
