import { milliseconds, selected, whole } from '../columns.js'
import type { Query } from '../connections.js'

/** The calls of handlers, by the downstream keys that they carried. They are written with their records. */
export type CallQueries = ReturnType<typeof callQueriesFor>

const columns = {
  call_id: 'id',
  call_key: 'downstream_key',
  call_record_id: 'record_id',
  call_scope: 'scope_id',
  call_operation: 'operation',
  call_generation: 'generation',
  call_phase: 'phase',
  call_state: 'state',
  call_begun_at: milliseconds('begun_at'),
} as const

const names = Object.keys(columns)
const call = Object.entries(columns)
  .map(([name, column]) => `${column} AS ${name}`)
  .join(', ')

export function callQueriesFor(schema: string) {
  const calls = `${schema}.calls`
  return {
    /** With the record as it is now: `id` is NULL where that is gone. */
    find: {
      text: `SELECT ${[...names, ...whole].join(', ')} FROM (SELECT ${call} FROM ${calls} WHERE downstream_key = $1) c
      LEFT JOIN (SELECT ${selected(whole)} FROM ${schema}.records) r ON r.id = c.call_record_id`,
      gives: [...names, ...whole],
    },
    list: {
      text: `SELECT ${call} FROM ${calls} WHERE id > $1::bigint ORDER BY id LIMIT $2`,
      gives: names,
    },
  } as const satisfies Record<string, Query>
}
