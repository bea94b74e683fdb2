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

/** A parameter in milliseconds; without it there is no end. */
function time(n: number): string {
  return `coalesce(timestamptz 'epoch' + $${n}::bigint * interval '1 millisecond', 'infinity')`
}

export function callQueriesFor(schema: string) {
  const calls = `${schema}.calls`
  return {
    /** With the record as it is now: `id` is NULL where that is gone. */
    find: {
      text: `SELECT ${[...names, ...whole].join(', ')} FROM (SELECT ${call} FROM ${calls} WHERE downstream_key = $1) c
      LEFT JOIN (SELECT ${selected(whole)} FROM ${schema}.records) r ON r.id = c.call_record_id`,
      gives: [...names, ...whole],
    },
    /** From a time and an id on, and before another time. */
    list: {
      text: `SELECT ${call} FROM ${calls} WHERE begun_at >= ${time(1)} AND (begun_at, id) > (${time(1)}, $2::bigint)
        AND begun_at < ${time(3)} ORDER BY begun_at, id LIMIT $4`,
      gives: names,
      plan: 'fresh',
    },
    /** Those of one record: few, and found by it. */
    listOf: {
      text: `SELECT ${call} FROM ${calls} WHERE record_id = $5 AND (begun_at, id) > (${time(1)}, $2::bigint)
        AND begun_at >= ${time(1)} AND begun_at < ${time(3)} ORDER BY begun_at, id LIMIT $4`,
      gives: names,
      plan: 'fresh',
    },
    named: {
      text: `SELECT ${call} FROM ${calls} WHERE downstream_key = ANY (ARRAY(SELECT unnest($1::text[])))`,
      gives: names,
      plan: 'fresh',
    },
  } as const satisfies Record<string, Query>
}
