import type { Query } from './connections.js'
import { hasOpenEffects } from './fragments.js'

/** When a tombstone has stood its time, as its index has it. */
const forgettable = `(expires_at AT TIME ZONE 'UTC' + tombstone_ms * interval '1 millisecond')`

/**
 * Deletes tombstones, and all that hangs on them, in one statement: a key that is used anew derives the downstream keys of its
 * first time, and must not meet a call, an effect or a testimony of then.
 *
 * The tombstone is locked, so that nothing can be added to its record meanwhile. Of an effect the state goes first, as where
 * effects are reaped by themselves: two who delete one wait for each other there, and not crosswise.
 */
export function forgettingFor(schema: string) {
  const [records, calls, testimonies] = [`${schema}.records`, `${schema}.calls`, `${schema}.testimonies`]
  const [effects, states] = [`${schema}.effects`, `${schema}.effect_states`]
  const ofGone = 'record_id = ANY (ARRAY(SELECT id FROM gone))'
  return {
    forget: {
      text: `WITH gone AS MATERIALIZED (
        SELECT id FROM ${records} r WHERE status = 'expired' AND ${forgettable} <= ${schema}.clock() AT TIME ZONE 'UTC'
          AND NOT ${hasOpenEffects(schema)}
        ORDER BY ${forgettable} LIMIT $1 FOR UPDATE SKIP LOCKED),
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
