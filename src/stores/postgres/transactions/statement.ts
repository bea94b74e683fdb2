import { invariant } from '../../../kernel/errors.js'
import { named, type Query, type Row } from '../connections.js'

/**
 * What a tool makes of a row hangs on its types, its plugins and its names for columns. So a statement gives one column
 * of text, which holds all of them as PostgreSQL spells them. It begins with a mark, or a plugin that looks for JSON
 * would find some.
 *
 * A statement that changes rows in a WITH of its own cannot stand in another one.
 */
export function asText({ text, gives }: Query): string {
  if (gives.length === 0) return text
  const columns = gives.map((name) => `"${name}"`)
  const spelled = columns.map((name) => `CASE WHEN ${name} IS NOT NULL THEN format('%s', ${name}) END`)
  return `WITH said (${columns.join(', ')}) AS (${text}) SELECT '${mark}' || json_build_array(${spelled.join(', ')})::text AS said FROM said`
}

const mark = ':'

/** The rows behind that text, whatever the tool calls the column. */
export function rowsOf(query: Query, found: readonly unknown[]): readonly Row[] {
  if (query.gives.length === 0) return []
  return found.map((row) => {
    const [said] = Object.values(row as object)
    invariant(typeof said === 'string' && said.startsWith(mark), 'text stays text')
    return named(query, JSON.parse(said.slice(mark.length)) as (string | null)[])
  })
}
