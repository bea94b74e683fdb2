import type { Query } from '../connections.js'
import { held, parameter } from '../fragments.js'
import { claimedColumns, claimedGives, effectColumns, effectGives } from './effect-row.js'
import { firstOf } from './turn-queries.js'

/**
 * Every statement on the outbox, for one schema, save for lists and for what ends a claim. Only `clock()` says what is due or over. Ids are
 * gathered into an array, as with the records, so that no plan reads a whole table.
 */
export type EffectQueries = ReturnType<typeof effectQueriesFor>

const done = ['done']

export function effectQueriesFor(schema: string) {
  const effects = `${schema}.effects`
  const states = `${schema}.effect_states`
  const clock = `${schema}.clock()`
  /** Asked once: without the fence the planner would ask anew for each row, and for each column of it. */
  const now = `(SELECT ${clock} AS now OFFSET 0) t`
  const whole = `SELECT ${effectColumns} FROM ${states} s JOIN ${effects} e ON e.id = s.effect_id`
  const ofClaim = `s.effect_id = $1 AND s.fence = $2`
  const giving = (columns: string, gives: readonly string[]) => (set: string, ids: string) => ({
    text: `UPDATE ${states} s SET ${set} FROM ${now}, ${effects} e
      WHERE s.effect_id = ANY (ARRAY(${ids})) AND e.id = s.effect_id RETURNING ${columns}`,
    gives,
    plan: 'fresh' as const,
  })
  /** Changes the states of these ids, and gives the whole effects. */
  const changing = giving(effectColumns, effectGives)
  /** The same, without what every claimed effect has alike. */
  const claiming = giving(claimedColumns, claimedGives)
  /** Begins with the scope, so that two scopes never share one. */
  const ordering = `n.scope_id || ' ' || n.ordering`
  /**
   * Another of its order was written before it, here or earlier, and is not final; or nobody can tell, since a transaction
   * of the application's that keeps to one snapshot does not see who was. Such a one is found by who looks.
   */
  const waits = `(row_number() OVER (PARTITION BY n.ordering ORDER BY n.id) > 1
            OR current_setting('transaction_isolation') <> 'read committed' OR EXISTS (${firstOf(states, ordering)}))`
  const leased = `state = 'leased', fence = fence + 1, started = started + 1, on_lease_over = 'resume',
        leased_until = t.now + $3::bigint * interval '1 millisecond', first_started_at = coalesce(first_started_at, t.now)`
  /** As the index of what can be claimed has it. */
  const claimableAt = 'coalesce(s.leased_until, s.due_at)'
  const mayRun = `s.on_lease_over = 'resume' AND s.is_next = 1`
  const redriven = `state = 'ready', due_at = t.now, started = 0, finished = 0, looks = 0`
  const dead = `SELECT effect_id FROM ${states} WHERE effect_id = ANY ($1::bigint[]) AND state = 'dead' FOR UPDATE`

  return {
    /**
     * With the record that they belong to, if its claim still holds: else it writes nothing, and the fenced write that follows
     * throws. It gives no rows, so that every tool can say it. Ids are drawn in the order in which the effects were written.
     */
    insert: {
      text: `WITH t AS MATERIALIZED (SELECT ${clock} AS now),
      r AS (UPDATE ${schema}.records SET has_effects = 1 WHERE ${held(parameter)} RETURNING id, scope_id, operation, generation),
      asked AS MATERIALIZED (SELECT * FROM unnest($5::text[], $6::bytea[], $7::text[], $8::text[], $9::integer[], $10::text[], $11::bigint[])
        WITH ORDINALITY AS asked(kind, payload, downstream_key, phase, sequence, ordering, due_in, position)),
      n AS (INSERT INTO ${effects} (record_id, scope_id, operation, generation, phase, sequence, kind, payload, downstream_key, ordering, created_at)
        SELECT id, scope_id, operation, generation, phase, sequence, kind, payload, downstream_key, ordering, now
        FROM r, t, asked ORDER BY position RETURNING id, record_id, scope_id, kind, ordering, downstream_key)
      INSERT INTO ${states} (effect_id, record_id, scope_id, kind, ordering, state, due_at, is_next)
        SELECT n.id, n.record_id, n.scope_id, n.kind, ${ordering}, 'ready', now + due_in * interval '1 millisecond',
          CASE WHEN n.ordering IS NOT NULL AND ${waits} THEN 0 ELSE 1 END
        FROM t, n JOIN asked USING (downstream_key)`,
      gives: [],
      plan: 'fresh',
    },
    /** Whoever writes to the same order waits here for the one before, so that ids of an order rise as they become visible. */
    lockOrders: {
      text: `SELECT count(pg_advisory_xact_lock(k)) FROM (SELECT DISTINCT unnest($1::bigint[]) AS k ORDER BY k) a`,
      gives: ['count'],
    },

    /** Whoever is locked is being claimed by somebody else. */
    claim: claiming(
      leased,
      `SELECT s.effect_id FROM ${states} s WHERE s.state IN ('ready', 'leased') AND ${claimableAt} <= ${clock}
        AND ${mayRun} AND s.kind = ANY ($1::text[])
        ORDER BY ${claimableAt}, s.effect_id LIMIT $2 FOR UPDATE SKIP LOCKED`,
    ),
    /** The same of these ids, due or not. */
    claimNamed: claiming(
      leased,
      `SELECT s.effect_id FROM ${states} s WHERE s.effect_id = ANY ($4::bigint[]) AND s.kind = ANY ($1::text[])
        AND s.state IN ('ready', 'leased') AND ${mayRun} AND (s.state = 'ready' OR s.leased_until <= ${clock})
        ORDER BY s.effect_id LIMIT $2 FOR UPDATE SKIP LOCKED`,
    ),
    begin: {
      text: `UPDATE ${states} s SET on_lease_over = 'doubt', leased_until = t.now + $3::bigint * interval '1 millisecond'
      FROM ${now} WHERE ${ofClaim} AND s.state = 'leased' RETURNING 1`,
      gives: done,
    },
    renew: {
      text: `UPDATE ${states} s SET leased_until = t.now + $3::bigint * interval '1 millisecond'
      FROM ${now}, unnest($1::bigint[], $2::bigint[]) AS asked(id, fence)
      WHERE s.effect_id = ANY (ARRAY(SELECT unnest($1::bigint[]))) AND s.effect_id = asked.id AND s.fence = asked.fence
        AND s.state = 'leased' RETURNING s.effect_id, s.fence`,
      gives: ['id', 'fence'],
      plan: 'fresh',
    },
    /** The last claim may still say it of a doubt that nobody has resolved: it was only slow. */
    record: {
      text: `UPDATE ${states} s SET provider_id = $3, result = $4, on_lease_over = 'resume'
      WHERE ${ofClaim} AND s.state IN ('leased', 'unknown') RETURNING 1`,
      gives: done,
    },

    sweep: changing(
      `state = 'unknown', leased_until = NULL, on_lease_over = 'resume', doubted_at = t.now, looks = 0, reconcile_after = t.now,
        last_error_code = 'in_progress_lock_expired'`,
      `SELECT effect_id FROM ${states} WHERE state = 'leased' AND on_lease_over = 'doubt' AND leased_until <= ${clock}
        ORDER BY leased_until LIMIT $1 FOR UPDATE SKIP LOCKED`,
    ),
    doubts: changing(
      `reconcile_after = t.now + $3::bigint * interval '1 millisecond'`,
      `SELECT effect_id FROM ${states} WHERE state = 'unknown' AND reconcile_after <= ${clock} AND kind = ANY ($2::text[])
        ORDER BY reconcile_after LIMIT $1 FOR UPDATE SKIP LOCKED`,
    ),
    postpone: {
      text: `UPDATE ${states} s SET looks = $3, reconcile_after = t.now + $4::bigint * interval '1 millisecond'
      FROM ${now} WHERE ${ofClaim} AND s.state = 'unknown'
        AND ($5::bigint IS NULL OR s.reconcile_after = ${milliseconds(5)}) RETURNING 1`,
      gives: done,
    },
    /**
     * What the provider itself once answered outweighs who says later that it did not land. One that did not land has not
     * shown its key to the provider.
     */
    resolve: {
      text: `UPDATE ${states} s SET state = 'ready', due_at = t.now, on_lease_over = 'resume', doubted_at = NULL, looks = 0,
        reconcile_after = NULL, result = coalesce($4::bytea, s.result),
        provider_id = CASE WHEN $4::bytea IS NULL THEN s.provider_id ELSE $3 END,
        first_started_at = CASE WHEN coalesce($4::bytea, s.result) IS NULL THEN NULL ELSE s.first_started_at END
      FROM ${now} WHERE ${ofClaim} AND s.state = 'unknown' RETURNING 1`,
      gives: done,
    },

    find: { text: `${whole} WHERE s.effect_id = $1`, gives: effectGives },
    findByKey: { text: `${whole} WHERE e.downstream_key = $1`, gives: effectGives },
    /** Those that were done, from a time and an id on. */
    done: {
      text: `${whole} WHERE s.state IN ('done', 'discarded') AND s.state = 'done' AND s.finished_at >= ${milliseconds(1)}
        AND (s.finished_at, s.effect_id) > (${milliseconds(1)}, $2::bigint) ORDER BY s.finished_at, s.effect_id LIMIT $3`,
      gives: effectGives,
      plan: 'fresh',
    },
    named: {
      text: `${whole} WHERE e.downstream_key = ANY (ARRAY(SELECT unnest($1::text[])))`,
      gives: effectGives,
      plan: 'fresh',
    },
    /** When it was claimed first stays: since then the provider may have seen its key. */
    redrive: changing(redriven, dead),
    /** Somebody took it upon himself that the provider has forgotten it. */
    redriveAnew: changing(`${redriven}, first_started_at = NULL`, dead),
    discard: changing(`state = 'discarded', finished_at = t.now`, dead),
    reap: {
      text: `WITH gone AS (DELETE FROM ${states} WHERE effect_id = ANY (ARRAY(
        SELECT effect_id FROM ${states} WHERE state IN ('done', 'discarded')
          AND finished_at <= ${clock} - $2::bigint * interval '1 millisecond'
        ORDER BY finished_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING effect_id),
      e AS (DELETE FROM ${effects} WHERE id = ANY (ARRAY(SELECT effect_id FROM gone)) RETURNING downstream_key),
      t AS (DELETE FROM ${schema}.testimonies WHERE downstream_key = ANY (ARRAY(SELECT downstream_key FROM e)))
      SELECT 1 FROM gone`,
      gives: done,
      plan: 'fresh',
    },
  } as const satisfies Record<string, Query>
}

/** A parameter in milliseconds, as a time. */
function milliseconds(n: number): string {
  return `(timestamptz 'epoch' + $${n}::bigint * interval '1 millisecond')`
}
