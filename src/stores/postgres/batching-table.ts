import type { RecordName } from '../../engine/record.js'
import type { Completed, Completion } from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { postgresBounds } from '../../kernel/limits.js'
import { type Completing, copied, type Found, type Renewing, type Written } from './arguments.js'
import { isSpoiled } from './faults.js'
import { type LaneOptions, lanes, type Outcome } from './lanes.js'
import type { Inserted, RecordTable } from './record-table.js'

/** What can travel with others. */
type Batched = Pick<RecordTable, 'insert' | 'find' | 'renew' | 'complete'>

/**
 * One statement for many records, no two of which are the same: for each in turn what became of it, or `undefined` where that
 * is to be found out alone.
 */
export interface RecordBatches {
  insert(reservations: readonly Reservation[]): Promise<readonly (Inserted | undefined)[]>
  find(names: readonly RecordName[]): Promise<readonly (Found | undefined)[]>
  renew(renewals: readonly Renewing[]): Promise<readonly (true | undefined)[]>
  complete(completions: readonly Completing[]): Promise<readonly ((Completed & Written) | undefined)[]>
}

/**
 * The same table with group commit: reservations, completions, renewals and reads that arrive together travel as one
 * statement each. Whatever a batch could not do is done alone, with the table's own statements: a record that somebody
 * else holds, a claim that is lost, a batch that was refused because of one of its rows.
 */
export function batchingTable<Table extends Batched>(
  table: Table,
  batches: RecordBatches,
  options: LaneOptions,
): Table {
  function batched<Operation, Result>(kind: Kind<Operation, Result>): (operation: Operation) => Promise<Result> {
    const together = (operations: readonly Operation[]) => sharing(kind, operations)
    return lanes({ alone: kind.alone, together, isUndone: isSpoiled }, options)
  }

  const insert = batched<Reservation, Inserted>({
    all: batches.insert,
    nameOf: (reservation) => reservation,
    alone: (reservation) => table.insert(reservation),
    // Whoever comes second to a key that was new finds it taken, with the next batch.
    shared: (inserted) =>
      inserted.kind === 'known' ? { kind: 'known', found: inserted.found && copied(inserted.found) } : undefined,
  })
  const find = batched<RecordName, Found | undefined>({
    all: batches.find,
    nameOf: (name) => name,
    alone: (name) => table.find(name),
    shared: (found) => found && copied(found),
    isReading: true,
  })
  const renew = batched<Renewing, boolean>({
    all: batches.renew,
    nameOf: ({ claim }) => claim,
    alone: ({ claim, leaseMs }) => table.renew(claim, leaseMs),
    shared: () => undefined,
  })
  const complete = batched<Completing, (Completed & Written) | undefined>({
    all: batches.complete,
    nameOf: ({ claim }) => claim,
    alone: ({ claim, completion }) => table.complete(claim, completion),
    shared: () => undefined,
  })

  return {
    ...table,
    insert,
    find,
    renew: (claim, leaseMs) => renew({ claim, leaseMs }),
    complete: (claim, completion) =>
      isLarge(completion) ? table.complete(claim, completion) : complete({ claim, completion }),
  }
}

interface Kind<Operation, Result> {
  readonly all: (operations: readonly Operation[]) => Promise<readonly (Result | undefined)[]>
  readonly nameOf: (operation: Operation) => RecordName
  readonly alone: (operation: Operation) => Promise<Result>
  /** What another operation on the same record is told, with bytes of its own. `undefined`: it comes with the next batch. */
  readonly shared: (result: Result) => Result | undefined
  /** It changes nothing: what a batch did not give is read once, alone, for everybody who asked. */
  readonly isReading?: true
}

/** A statement must not meet a record twice: of several operations on one the first goes, and the others see what it gave. */
async function sharing<Operation, Result>(
  { all, nameOf, alone, shared, isReading }: Kind<Operation, Result>,
  operations: readonly Operation[],
): Promise<readonly Outcome<Result>[]> {
  const places = new Map<string, number>()
  /** Of each record the one that goes. */
  const firsts: number[] = []
  const placeOf = operations.map((operation, index) => {
    const { scope, key } = nameOf(operation)
    const address = `${scope}\n${key}`
    const known = places.get(address)
    if (known !== undefined) return known
    places.set(address, firsts.length)
    return firsts.push(index) - 1
  })
  const results = await all(firsts.map((index) => operations[index] as Operation))
  const readings = new Map<number, Promise<Result>>()
  return operations.map((operation, index): Outcome<Result> => {
    const place = placeOf[index] ?? 0
    const isFirst = firsts[place] === index
    const result = results[place]
    if (result === undefined && isReading) {
      const reading = readings.get(place) ?? alone(operation)
      readings.set(place, reading)
      return { kind: 'done', result: reading.then((read) => shared(read) ?? read) }
    }
    if (result === undefined) return isFirst ? { kind: 'alone' } : { kind: 'again' }
    if (isFirst) return { kind: 'done', result }
    const other = shared(result)
    return other === undefined ? { kind: 'again' } : { kind: 'done', result: other }
  })
}

function isLarge({ answer }: Completion): boolean {
  return answer.kind === 'kept' && answer.body.byteLength > postgresBounds.batchedBodyBytes
}
