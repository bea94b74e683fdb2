import { systemClock, within } from '../../../kernel/clock.js'
import type { SqlValue } from '../../sql/row.js'
import { type Connections, type ConnectionUse, named, type Query } from '../connections.js'
import { lateStatement } from '../faults.js'
import { type PGlite, type PGliteTransaction, pgliteTool } from './pglite.js'
import { toolTransactions } from './tool-connections.js'

/** A PGlite as the store's own connections. It has one: while a transaction is open, all else waits for its end. */
export function pgliteConnections<Tx extends PGliteTransaction>(db: PGlite, use: ConnectionUse): Connections<Tx> {
  const query = async (query: Query, values: readonly SqlValue[]) => {
    const asked = db.query(query.text, [...values], rawOf(db))
    const { rows } = await within(systemClock, use.statementTimeoutMs, asked, () => lateStatement(use))
    return (rows as (string | null)[][]).map((row) => named(query, row))
  }
  return {
    query,
    transaction: toolTransactions((body) => pgliteTool.begin(db, body), use, query),
    close: async () => {},
  }
}

/** As PostgreSQL spells it: every parser that this instance knows is left out. */
function rawOf({ parsers }: PGlite) {
  return { rowMode: 'array', parsers: Object.fromEntries(Object.keys(parsers).map((type) => [type, asIs])) } as const
}

function asIs(value: string): string {
  return value
}
