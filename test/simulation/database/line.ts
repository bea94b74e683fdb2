import { endedTransaction, storeError } from '../../../src/stores/postgres/faults.js'
import type { PortCall, Ports } from '../world/port-call.js'
import type { Process } from '../world/process.js'
import { canonical } from './canonical.js'
import type { Transaction, WaitsFor } from './cells.js'
import type { SimulatedDatabase } from './database.js'
import { brokenLine, serverError } from './server-error.js'
import { dropAdrift, failed, isDeadlock, newTransaction, rollBack } from './transaction.js'

/** What a statement does: it waits while somebody is in its way, and then runs in one instant. */
export interface Statement<T> {
  readonly waitsFor?: WaitsFor
  readonly run: () => T
  /** What it saw when it began, where it had to wait since and what it does depends on it. */
  readonly saw?: () => unknown
}

/** What whoever sends it does: `reserves acme/k1`. */
export type Words = () => string

/** How one node talks to the database. */
export interface Line {
  readonly database: SimulatedDatabase
  now(): number
  /**
   * A statement by itself; a read changes nothing, and locks nothing; one that is prompt happens now or not at all, and is never
   * still on its way when its line has broken. Throws a HapaxError.
   */
  ask<T>(words: Words, statement: Statement<T>, kind?: 'read' | 'prompt'): Promise<T>
  /** A statement of a transaction, which a commit ends. Throws what the server said. */
  say<T>(transaction: Transaction, words: Words, statement: Statement<T>, kind?: 'commit'): Promise<T>
  begin(): Transaction
}

export function lineOf(database: SimulatedDatabase, ports: Ports, process: Process): Line {
  const open = new Set<Transaction>()
  process.onCrash.push(() => {
    for (const transaction of [...open]) rollBack(transaction)
  })
  return {
    database,
    now: () => ports.now(),
    ask(words, statement, kind) {
      const Kind = kind === undefined ? LoneWrite : kinds[kind]
      return ports.call(new Kind(process, words, statement))
    },
    say(transaction, words, statement, kind) {
      if (transaction.stage === 'over' || transaction.isAdrift) return Promise.reject(endedTransaction())
      const Kind = kind === 'commit' ? CommitStatement : TransactionStatement
      return ports.call(new Kind(process, words, statement, transaction))
    },
    begin() {
      const transaction = newTransaction(database.newTransactionId(process.name), () => open.delete(transaction))
      open.add(transaction)
      return transaction
    },
  }
}

/**
 * A statement on its way. A class, since there are dozens of them in every schedule, and each has a handful of members. They are
 * written once, by the constructor: what is the same for all of a class is asked of it.
 */
abstract class SentStatement<T> {
  declare readonly process: Process
  declare readonly statement: Statement<T>
  declare private readonly said: Words

  constructor(process: Process, words: Words, statement: Statement<T>) {
    this.process = process
    this.statement = statement
    this.said = words
  }

  get port(): 'store' {
    return 'store'
  }

  words(): string {
    return `${this.process.name} ${this.said()}`
  }

  digest(value: T): string {
    return canonical(value)
  }

  saw(): string {
    return canonical(this.statement.saw?.())
  }
}

/** One that is a transaction by itself. Whoever sent it is told what became of it as the store tells it. */
class LoneRead<T> extends SentStatement<T> implements PortCall<T> {
  get isTraceless(): boolean {
    return true
  }

  isReady(): boolean {
    return this.statement.waitsFor?.() === undefined
  }

  happen(): T {
    if (!this.isReady()) throw storeError(serverError('40P01'))
    try {
      return this.statement.run()
    } catch (error) {
      throw storeError(error)
    }
  }

  broken(): Error {
    return storeError(brokenLine())
  }

  isCancellable(): boolean {
    return true
  }

  cancel(): never {
    throw storeError(serverError('57014'))
  }
}

class PromptWrite<T> extends LoneRead<T> {
  override get isTraceless(): boolean {
    return false
  }
}

const kinds = { read: LoneRead, prompt: PromptWrite } as const

class LoneWrite<T> extends PromptWrite<T> {
  isInVain(value: T): boolean {
    return value === undefined || value === false
  }

  adrift(): Error {
    return storeError(brokenLine())
  }
}

class TransactionStatement<T> extends SentStatement<T> implements PortCall<T> {
  declare readonly transaction: Transaction
  /** Its place among those of its transaction. */
  declare private readonly turn: number

  constructor(process: Process, words: Words, statement: Statement<T>, transaction: Transaction) {
    super(process, words, statement)
    this.transaction = transaction
    this.turn = transaction.statements.push(statement.waitsFor) - 1
  }

  get isTraceless(): boolean {
    return true
  }

  isReady(): boolean {
    const { transaction } = this
    if (transaction.stage === 'over') return true
    const blocker = transaction.done === this.turn ? this.statement.waitsFor?.() : transaction
    return blocker === undefined || (blocker !== transaction && isDeadlock(transaction, blocker))
  }

  happen(): T {
    try {
      return said(this.transaction, this.statement)
    } finally {
      if (this.transaction.isAdrift) dropAdrift(this.transaction)
    }
  }

  broken(): Error {
    const error = brokenLine()
    rollBack(this.transaction)
    this.transaction.lose(storeError(error))
    return error
  }

  /** It is on its way, or waits: nobody but the server ends the transaction from here on. */
  adrift(): Error {
    const error = brokenLine()
    this.transaction.isAdrift = true
    this.transaction.onEnd()
    this.transaction.lose(storeError(error))
    return error
  }

  isCancellable(): boolean {
    return this.transaction.stage !== 'over' && this.transaction.done === this.turn
  }

  cancel(): never {
    this.transaction.done++
    failed(this.transaction)
    throw serverError('57014')
  }
}

class CommitStatement<T> extends TransactionStatement<T> {
  override get isTraceless(): boolean {
    return false
  }
}

/** A late statement of a transaction that is over does nothing. */
function said<T>(transaction: Transaction, statement: Statement<T>): T {
  if (transaction.stage === 'over') throw endedTransaction()
  transaction.done++
  if (transaction.isFailed) throw serverError('25P02')
  try {
    if (statement.waitsFor?.() !== undefined) throw serverError('40P01')
    return statement.run()
  } catch (error) {
    failed(transaction)
    throw error
  }
}
