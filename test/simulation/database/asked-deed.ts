import { invariant } from '../../../src/kernel/errors.js'
import type { Asked, Query, Session } from '../../../src/stores/postgres/connections.js'
import type { Transaction } from './cells.js'
import type { Line, Statement, Words } from './line.js'

/** A statement of the simulated server in the place of SQL: the store hands it on, and does not read it. */
interface DeedQuery extends Query {
  readonly words: Words
  readonly statement: Statement<void>
}

export function askedDeed(words: Words, statement: Statement<void>): Asked {
  const query: DeedQuery = { text: '', gives: none, words, statement }
  return { query, values: none }
}

export function statementIn({ query }: Asked): Statement<void> {
  return deedIn(query).statement
}

/** Says in a transaction what the store was handed. Whoever made it knows what it gave. */
export function queryIn(line: Line, transaction: Transaction): Session<unknown>['query'] {
  return async (query) => {
    const { words, statement } = deedIn(query)
    await line.say(transaction, words, statement)
    return none
  }
}

function deedIn(query: Query): DeedQuery {
  invariant('statement' in query, 'the simulated server speaks no SQL')
  return query as DeedQuery
}

const none: readonly never[] = []
