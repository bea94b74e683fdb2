import type { Dialect } from '../sql/listing.js'
import { selected, whole } from './columns.js'

/** How a list is spelled in PostgreSQL. */
export function listingDialect(schema: string): Dialect {
  const records = `${schema}.records`
  return {
    table: records,
    select: selected(whole),
    parameter: (n) => `$${n}`,
    time: (parameter) => `(timestamptz 'epoch' + ${parameter}::bigint * interval '1 millisecond')`,
    byBytes: (column) => `${column} COLLATE "C"`,
    keysIndexed: 'settled',
    scopesIndexed: 'apart',
    // Whether it is there at all is asked first: to take each apart took longer than to read them.
    resource: (parameter) =>
      `strpos(response_headers, ${parameter}) > 0 AND substring(response_headers from '(?i)"location","([^"]*)"') = ${parameter}`,
    idAt: (time) => idAt(records, time),
  }
}

/**
 * Halves what is left until one id remains: about as many looks into the index as the number of rows has digits, in base two.
 * One that was used anew has a later time than its id says, and is passed by.
 */
function idAt(records: string, time: string): string {
  return `(WITH RECURSIVE halved AS (
      SELECT coalesce((SELECT min(id) FROM ${records}), 0) AS low, coalesce((SELECT max(id) FROM ${records}), 0) + 1 AS high
      UNION ALL
      SELECT CASE WHEN found.is_before THEN found.id + 1 ELSE low END,
        CASE WHEN found.is_before THEN high ELSE (low + high) / 2 END
      FROM halved LEFT JOIN LATERAL (SELECT id, created_at < ${time} AS is_before FROM ${records}
        WHERE id >= (low + high) / 2 AND id < high AND generation = 1 ORDER BY id LIMIT 1) found ON true
      WHERE low < high)
    SELECT max(low) FROM halved)`
}
