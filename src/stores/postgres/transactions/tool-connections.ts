import { systemClock, within } from '../../../kernel/clock.js'
import { HapaxError } from '../../../kernel/errors.js'
import type { SqlValue } from '../../sql/row.js'
import {
  type Connections,
  type ConnectionUse,
  inTurn,
  type Last,
  type Opening,
  type Query,
  type Session,
} from '../connections.js'
import { endedTransaction, isFarewell, lateStatement, noConnection } from '../faults.js'
import { reasonOf } from './reason.js'
import { type Begins, spoken } from './source.js'

/** The same bounds as for every transaction of ours, and the number of this one. */
const opening: Query = {
  text: `SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true),
    pg_current_xact_id()`,
  gives: ['statement_timeout', 'idle_timeout', 'transaction'],
}

const fate: Query = { text: 'SELECT pg_xact_status($1::xid8)', gives: ['fate'] }

/**
 * Transactions that a tool opens, for the store. A tool's own object cannot be sealed: what a handler sends too late may
 * fail behind the last write, and then COMMIT rolls back and yet reports success. So another connection is asked
 * afterwards what became of it.
 */
export function toolTransactions<Tx>(
  begin: Begins,
  use: ConnectionUse,
  ask: Connections<unknown>['query'],
): Connections<Tx>['transaction'] {
  const bounded = <T>(promise: Promise<T>) =>
    within(systemClock, use.statementTimeoutMs, promise, () => lateStatement(use))

  return async <T>(body: (session: Session<Tx>) => Promise<T>, { asked }: Opening = { asked: [] }): Promise<T> => {
    const started = signal()
    const finished = signal()
    let isOver = false
    let said: { readonly value: T; readonly transaction: string } | undefined
    let thrown: { readonly error: unknown } | undefined

    const running = begin(async (tx) => {
      if (isOver) throw endedTransaction()
      started.give()
      try {
        const { query } = bound(tx)
        const [row] = await query(opening, [String(use.statementTimeoutMs), String(use.transactionTimeoutMs)])
        const opened = await inTurn(query, asked)
        const leaving: { last?: Last } = {}
        const last = (last: Last) => {
          leaving.last = last
        }
        const value = await body({ tx: tx as Tx, opened, query, last, seal: () => undefined })
        leaving.last?.handOn(await inTurn(query, leaving.last.asked))
        said = { value, transaction: String(row?.transaction) }
      } catch (error) {
        thrown = { error }
        throw error
      } finally {
        finished.give()
      }
    })
    try {
      const starting = Promise.race([started.given, running])
      await within(systemClock, use.statementTimeoutMs, starting, () => noConnection(use))
      await Promise.race([finished.given, running])
      await bounded(running)
    } catch (error) {
      // What the tool itself says then is only that it could not roll back, or the same in other words.
      throw thrown === undefined ? reasonOf(error) : passedOn(thrown.error)
    } finally {
      isOver = true
      running.catch(() => undefined)
    }
    if (said === undefined) throw endedTransaction()
    const [row] = await ask(fate, [said.transaction])
    if (row?.fate !== 'committed') throw undone()
    return said.value
  }

  function bound(tx: object) {
    const speaks = spoken(tx)
    return { query: (query: Query, values: readonly SqlValue[]) => bounded(speaks.query(query, values)) }
  }
}

/** What the application threw is its own, unless it only passed on that the server ended the connection. */
function passedOn(error: unknown): unknown {
  const reason = reasonOf(error)
  return isFarewell(reason) ? reason : error
}

function undone(): HapaxError {
  return new HapaxError(
    'transaction_ended',
    'A statement behind the last one failed, and all of it was rolled back. Await every statement inside of its function.',
  )
}

function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}
