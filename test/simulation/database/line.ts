import { endedTransaction, storeError } from '../../../src/stores/postgres/faults.js'
import type { Ports } from '../world/port-call.js'
import type { Process } from '../world/process.js'
import { canonical } from './canonical.js'
import type { Transaction, WaitsFor } from './cells.js'
import type { SimulatedDatabase } from './database.js'
import { brokenLine, isServerError, serverError } from './server-error.js'
import { dropAdrift, failed, isDeadlock, newTransaction, rollBack } from './transaction.js'

/** What a statement does: it waits while somebody is in its way, and then runs in one instant. */
export interface Statement<T> {
  readonly waitsFor?: WaitsFor
  readonly run: () => T
}

/** What whoever sends it does: `reserves acme/k1`. */
export type Words = () => string

/** How one node talks to the database. */
export interface Line {
  readonly database: SimulatedDatabase
  now(): number
  /** A statement by itself; a read changes nothing, and locks nothing. Throws a HapaxError. */
  ask<T>(words: Words, statement: Statement<T>, kind?: 'read'): Promise<T>
  /** A statement of a transaction, which a commit ends. Throws what the server said. */
  say<T>(transaction: Transaction, words: Words, statement: Statement<T>, kind?: 'commit'): Promise<T>
  begin(): Transaction
}

/** What came of a statement: a refusal is an answer, too. */
type Outcome<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'refused'; readonly error: Error }

export function lineOf(database: SimulatedDatabase, ports: Ports, process: Process): Line {
  const open = new Set<Transaction>()
  process.onCrash.push(() => {
    for (const transaction of [...open]) rollBack(transaction)
  })
  const saidBy = (words: Words): Words => {
    return () => `${process.name} ${words()}`
  }

  /** A COMMIT that was sent is on its way: nobody but the server ends the transaction from here on. */
  function adrift(transaction: Transaction): Error {
    transaction.isAdrift = true
    open.delete(transaction)
    const error = brokenLine()
    transaction.lose(error)
    return error
  }

  return {
    database,
    now: () => ports.now(),
    async ask(words, statement, kind) {
      const { waitsFor = nobody } = statement
      try {
        const outcome = await ports.call({
          process,
          port: 'store',
          words: saidBy(words),
          isReady: () => waitsFor() === undefined,
          happen: () => (waitsFor() === undefined ? ran(statement) : refused(serverError('40P01'))),
          broken: brokenLine,
          adrift: brokenLine,
          isTraceless: kind === 'read',
          cancel: { isPossible: always, happen: () => refused(serverError('57014')) },
          digest: canonical,
        })
        return given(outcome)
      } catch (error) {
        throw storeError(error)
      }
    },
    async say(transaction, words, statement, kind) {
      if (transaction.stage === 'over') throw endedTransaction()
      const { waitsFor = nobody } = statement
      const turn = transaction.statements.push(waitsFor) - 1
      const outcome = await ports.call({
        process,
        port: 'store',
        words: saidBy(words),
        isReady() {
          if (transaction.stage === 'over') return true
          const blocker = transaction.done === turn ? waitsFor() : transaction
          return blocker === undefined || (blocker !== transaction && isDeadlock(transaction, blocker))
        },
        happen() {
          const outcome = said(transaction, statement)
          if (outcome.kind === 'refused' && transaction.isAdrift) dropAdrift(transaction)
          return outcome
        },
        broken() {
          const error = brokenLine()
          rollBack(transaction)
          transaction.lose(error)
          return error
        },
        isTraceless: kind !== 'commit',
        adrift: kind === 'commit' ? () => adrift(transaction) : undefined,
        cancel: {
          isPossible: () => transaction.stage !== 'over' && transaction.done === turn,
          happen() {
            transaction.done++
            failed(transaction)
            return refused(serverError('57014'))
          },
        },
        digest: canonical,
      })
      return given(outcome)
    },
    begin() {
      const transaction = newTransaction(database.newTransactionId(process.name), () => open.delete(transaction))
      open.add(transaction)
      return transaction
    },
  }
}

/** A late statement of a transaction that is over does nothing. */
function said<T>(transaction: Transaction, statement: Statement<T>): Outcome<T> {
  if (transaction.stage === 'over') return refused(endedTransaction())
  transaction.done++
  if (transaction.isFailed) return refused(serverError('25P02'))
  const outcome = statement.waitsFor?.() === undefined ? ran(statement) : refused(serverError('40P01'))
  if (outcome.kind === 'refused') failed(transaction)
  return outcome
}

function ran<T>({ run }: Statement<T>): Outcome<T> {
  try {
    return { kind: 'done', value: run() }
  } catch (error) {
    // Whatever else is thrown is a fault of the simulation, and comes out where it happened.
    if (isServerError(error)) return refused(error)
    throw error
  }
}

function refused(error: Error): { readonly kind: 'refused'; readonly error: Error } {
  return { kind: 'refused', error }
}

function given<T>(outcome: Outcome<T>): T {
  if (outcome.kind === 'refused') throw outcome.error
  return outcome.value
}

function always(): boolean {
  return true
}

function nobody(): undefined {
  return undefined
}
