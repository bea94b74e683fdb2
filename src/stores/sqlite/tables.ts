import type { Connection } from './connection.js'
import { type EffectTable, effectTable } from './effects/effect-table.js'
import { type RecordTable, recordTable } from './record-table.js'

/** All that is kept. */
export interface Tables {
  readonly records: RecordTable
  readonly effects: EffectTable
}

export function tablesOn(connection: Connection): Tables {
  return { records: recordTable(connection), effects: effectTable(connection) }
}
