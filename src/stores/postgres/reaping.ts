import type { Query } from './connections.js'
import { expirable, hasOpenEffects, moved } from './fragments.js'

/** When a tombstone has stood its time, as its index has it. */
const forgettable = `(expires_at AT TIME ZONE 'UTC' + tombstone_ms * interval '1 millisecond')`

/**
 * What is past its retention is buried, and tombstones are deleted with all that hangs on them in one statement: a key that is used anew derives the downstream keys of its
 * first time, and must not meet a call, an effect or a testimony of then.
 *
 * The tombstone is locked, so that nothing can be added to its record meanwhile. Of an effect the state goes first, as where
 * effects are reaped by themselves: two who delete one wait for each other there, and not crosswise.
 */
export function reapingFor(schema: string) {
  const [records, calls, testimonies] = [`${schema}.records`, `${schema}.calls`, `${schema}.testimonies`]
  const [effects, states] = [`${schema}.effects`, `${schema}.effect_states`]
  const ofGone = 'record_id = ANY (ARRAY(SELECT id FROM gone))'
  const buriable = `SELECT id FROM ${records} r WHERE ${expirable} AND expires_at <= ${schema}.clock()
          AND NOT ${hasOpenEffects(schema)} ORDER BY expires_at LIMIT $1`
  const deletable = `SELECT id FROM ${records} r WHERE status = 'expired'
          AND ${forgettable} <= ${schema}.clock() AT TIME ZONE 'UTC' AND NOT ${hasOpenEffects(schema)}
        ORDER BY ${forgettable} LIMIT $1`
  return {
    /** How many the two others would find. */
    reapable: {
      text: `SELECT (SELECT count(*) FROM (${buriable}) b), (SELECT count(*) FROM (${deletable}) d)`,
      gives: ['buried', 'deleted'],
    },
    bury: {
      text: `UPDATE ${records} SET status = 'expired', response_status_code = NULL, response_headers = NULL, response_body = NULL,
        response_withheld_bytes = NULL, response_schema_version = NULL, progress = NULL, traceparent = NULL, reconcile_after = NULL, looks = 0,
        expires_at = CASE WHEN has_effects = 1 THEN ${schema}.clock() ELSE expires_at END, ${moved}
      WHERE id = ANY (ARRAY(${buriable} FOR UPDATE SKIP LOCKED))
      RETURNING 1`,
      gives: ['done'],
    },
    forget: {
      text: `WITH gone AS MATERIALIZED (
        ${deletable} FOR UPDATE SKIP LOCKED),
      c AS (DELETE FROM ${calls} WHERE ${ofGone} RETURNING downstream_key),
      s AS (DELETE FROM ${states} WHERE effect_id = ANY (ARRAY(SELECT id FROM ${effects} WHERE ${ofGone})) RETURNING effect_id),
      e AS (DELETE FROM ${effects} WHERE id = ANY (ARRAY(SELECT effect_id FROM s)) RETURNING downstream_key),
      t AS (DELETE FROM ${testimonies} WHERE downstream_key = ANY (ARRAY(
        SELECT downstream_key FROM c UNION ALL SELECT downstream_key FROM e)))
      DELETE FROM ${records} WHERE id = ANY (ARRAY(SELECT id FROM gone)) RETURNING 1`,
      gives: ['done'],
    },
  } as const satisfies Record<string, Query>
}
