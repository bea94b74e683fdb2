import type { Store } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import { sqliteBounds } from '../../kernel/limits.js'
import { connect } from './connection.js'
import { cuts } from './cuts.js'
import { loadDriver } from './driver.js'

/** What only tests do to a SQLite store. No entry point exports it. */

/** Pins the clock of every store on this file to `ms`, or lets it run again. The file must have its schema. */
export async function pinSqliteClock(path: string, ms: number | undefined): Promise<void> {
  const connection = connect(await loadDriver(), { path, busyTimeoutMs: sqliteBounds.busyTimeoutMs, missing: 'refuse' })
  try {
    if (ms === undefined) connection.run({ sql: 'DELETE FROM hapax_clock' })
    else connection.run({ sql: 'INSERT OR REPLACE INTO hapax_clock VALUES (1, ?)', parameters: [ms] })
  } finally {
    connection.close()
  }
}

/** Cuts the store's connection: what is under way on it, or else its next operation, fails. */
export function cutSqlite(store: Store<unknown>): void {
  const cut = cuts.get(store)
  invariant(cut, 'the store is a sqliteStore()')
  cut()
}
