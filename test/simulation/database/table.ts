import { invariant } from '../../../src/kernel/errors.js'
import type { Cell, Table, Transaction } from './cells.js'
import { durable } from './durable.js'

/** Who reads or writes: a transaction, or a statement by itself. */
export type By = Transaction | undefined

export function seen<K, V>(table: Table<K, V>, key: K, by: By): V | undefined {
  const cell = table.get(key)
  return cell && seenIn(cell, by)
}

export function allSeen<K, V>(table: Table<K, V>, by: By): V[] {
  const rows: V[] = []
  for (const cell of table.values()) {
    const row = seenIn(cell, by)
    if (row !== undefined) rows.push(row)
  }
  return rows
}

/** Another transaction that has the row's lock. */
export function holderOf<K, V>(table: Table<K, V>, key: K, by: By): Transaction | undefined {
  const holder = table.get(key)?.holder
  return holder === by ? undefined : holder
}

/**
 * Another transaction that has inserted, changed or deleted the row, and has not ended: whoever inserts the same waits for it,
 * since nobody knows yet whether the row is there. One that has only locked it is in nobody's way.
 */
export function writerOf<K, V>(table: Table<K, V>, key: K, by: By): Transaction | undefined {
  const cell = table.get(key)
  return cell === undefined || cell.pending === cell.committed ? undefined : holderOf(table, key, by)
}

/** Writes a row, or deletes it. Whoever writes has waited for its lock. */
export function put<K, V>(table: Table<K, V>, key: K, next: V | undefined, by: By): void {
  if (by === undefined) putAtOnce(table, key, next)
  else held(table, key, by).pending = next
}

/** Keeps a row's lock until the transaction ends. */
export function held<K, V>(table: Table<K, V>, key: K, by: Transaction): Cell<V> {
  const cell = table.get(key) ?? { committed: undefined, holder: undefined, pending: undefined }
  invariant(cell.holder === undefined || cell.holder === by, 'a row is locked by one transaction')
  by.log.push({ table, key, cell, before: cell.pending, wasHeld: cell.holder === by })
  if (cell.holder === by) return cell
  cell.pending = cell.committed
  cell.holder = by
  table.set(key, cell)
  return cell
}

function putAtOnce<K, V>(table: Table<K, V>, key: K, next: V | undefined): void {
  const cell = table.get(key)
  invariant(cell?.holder === undefined, 'a row is locked by one transaction')
  durable.writes++
  if (next === undefined) table.delete(key)
  else if (cell === undefined) table.set(key, { committed: next, holder: undefined, pending: undefined })
  else cell.committed = next
}

function seenIn<V>(cell: Cell<V>, by: By): V | undefined {
  return by !== undefined && cell.holder === by ? cell.pending : cell.committed
}
