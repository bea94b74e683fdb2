import { postgresBounds } from '../../kernel/limits.js'
import { milliseconds, read, whole } from './columns.js'
import type { Query } from './connections.js'
import {
  column,
  completable,
  completed,
  expiresAt,
  held,
  renewable,
  renewed,
  reserved,
  reservedColumns,
} from './fragments.js'

/**
 * The same for many records in one statement. Each column of what is asked comes as one array.
 */
export type BatchQueries = ReturnType<typeof batchQueriesFor>

/** A large body stays behind, and its record is read alone: a batch of them would fill the memory. */
const isLarge = `octet_length(response_body) > ${postgresBounds.batchedBodyBytes}`
const light = whole.map((name) =>
  name === 'response_body' ? `CASE WHEN NOT (${isLarge}) THEN ${name} END` : read(name),
)

/** What is told of a record that is there. */
export const told = ['committed_in', 'is_large', ...whole]
const tells = ['committed_in', `CASE WHEN ${isLarge} THEN 'yes' END`, ...light]
/** The same in one column, each as PostgreSQL spells it: most keys are new, and their rows would be forty times nothing. */
const tellsInOne = `json_build_array(${tells.map((value) => `(${value})::text`).join(', ')})`

export function batchQueriesFor(schema: string) {
  const records = `${schema}.records`
  const now = `t AS MATERIALIZED (SELECT ${schema}.clock() AS now)`
  /**
   * Those that still hold their record, each with its place. Whom somebody else has locked is left out, to be waited for alone:
   * whoever waits holds nothing, so none can deadlock. Each is looked up by its digest and written by its place, because a
   * join of them all is planned by how many records are open, and compares each with each.
   */
  const holders = (state: string, ...types: readonly string[]) => `holders AS MATERIALIZED
      (SELECT found.place, asked.* FROM ${asked(...types)}, LATERAL (SELECT ctid AS place FROM ${records}
        WHERE ${held(column)} AND ${state} FOR NO KEY UPDATE SKIP LOCKED) found)`
  return {
    /** What is new is taken, in the order of digests; what is known is given as it is. */
    reserve: {
      text: `WITH ${now}, known AS MATERIALIZED (SELECT * FROM ${records} WHERE digest = ANY($1::bytea[])),
      fresh AS (INSERT INTO ${records} (${reservedColumns}) SELECT ${reserved(column)}
        FROM t, ${asked('bytea', 'text', 'text', 'text', 'text', 'text', 'text', 'bigint', 'bigint', 'bigint', 'bytea', 'text')}
        WHERE a1 NOT IN (SELECT digest FROM known) ORDER BY a1
        ON CONFLICT (digest) DO NOTHING RETURNING digest, id, created_at)
      SELECT digest, id, ${milliseconds('created_at')}, NULL FROM fresh
      UNION ALL SELECT digest, NULL, ${milliseconds('t.now')}, ${tellsInOne}::text FROM known, t`,
      gives: ['digest', 'fresh_id', 'now', 'known'],
      plan: 'young',
    },
    read: {
      text: `SELECT digest, ${milliseconds(`${schema}.clock()`)}, ${tells.join(', ')} FROM ${records}
      WHERE digest = ANY($1::bytea[])`,
      gives: ['digest', 'now', ...told],
      plan: 'young',
    },
    renew: {
      text: `WITH ${now}, ${holders(renewable, 'bytea', 'bigint', 'text', 'bigint', 'bigint')}
      UPDATE ${records} SET ${renewed(column)} FROM t, holders WHERE records.ctid = place RETURNING digest`,
      gives: ['digest'],
      plan: 'young',
    },
    complete: {
      text: `WITH ${now},
      ${holders(completable, 'bytea', 'bigint', 'text', 'bigint', 'integer', 'text', 'bytea', 'bigint', 'integer')}
      UPDATE ${records} SET ${completed(column)} FROM t, holders WHERE records.ctid = place
      RETURNING digest, ${expiresAt}, committed_in`,
      gives: ['digest', 'expires_at', 'committed_in'],
      plan: 'young',
    },
  } as const satisfies Record<string, Query>
}

function asked(...types: readonly string[]): string {
  const arrays = types.map((type, index) => `$${index + 1}::${type}[]`)
  return `unnest(${arrays.join(', ')}) AS asked(${types.map((_, index) => column(index + 1)).join(', ')})`
}
