import type { Cell, Table, Transaction } from './cells.js'
import { durable } from './durable.js'

export function newTransaction(id: string, onEnd: () => void): Transaction {
  return {
    id,
    stage: 'open',
    isFailed: false,
    isAdrift: false,
    log: [],
    savepoint: 0,
    statements: [],
    done: 0,
    lose: () => undefined,
    onEnd,
  }
}

export function commit(transaction: Transaction): void {
  end(transaction)
  for (const { table, key, cell } of transaction.log) {
    if (cell.holder !== transaction) continue
    if (cell.committed !== cell.pending) durable.writes++
    cell.committed = cell.pending
    letGo(table, key, cell)
  }
}

export function rollBack(transaction: Transaction): void {
  if (transaction.stage === 'over' || transaction.isAdrift) return
  end(transaction)
  undoTo(transaction, 0)
}

/** What was under way when its line broke has happened, and was no COMMIT, or was refused: the server notices. */
export function dropAdrift(transaction: Transaction): void {
  transaction.isAdrift = false
  rollBack(transaction)
}

/** A statement was refused: what came after the last savepoint is undone at once, and nobody waits for it any more. */
export function failed(transaction: Transaction): void {
  undoTo(transaction, transaction.savepoint)
  transaction.isFailed = true
}

/** Undoes what came after this place in the log, and lets go of what was locked since. */
export function undoTo(transaction: Transaction, place: number): void {
  const { log } = transaction
  while (log.length > place) {
    const change = log.pop()
    if (change === undefined) continue
    const { table, key, cell, before, wasHeld } = change
    if (wasHeld) cell.pending = before
    else letGo(table, key, cell)
  }
  transaction.isFailed = false
}

/** Whether to wait for `blocker` would be to wait for oneself: it waits, by way of others perhaps, for this one. */
export function isDeadlock(transaction: Transaction, blocker: Transaction): boolean {
  const met = new Set<Transaction>()
  let next: Transaction | undefined = blocker
  while (next !== undefined && next !== transaction && !met.has(next)) {
    met.add(next)
    next = next.statements[next.done]?.()
  }
  return next === transaction
}

function end(transaction: Transaction): void {
  transaction.stage = 'over'
  transaction.onEnd()
}

function letGo(table: Table<unknown, unknown>, key: unknown, cell: Cell<unknown>): void {
  cell.holder = undefined
  cell.pending = undefined
  if (cell.committed === undefined) table.delete(key)
}
