import type { Testimony } from '../../../engine/inbox-store.js'
import { arrayOf } from '../array.js'
import { milliseconds } from '../columns.js'
import type { Query } from '../connections.js'
import { moved } from '../fragments.js'

/** What was said about calls: written with a webhook's event or by itself, many in one statement. */
export type TestimonyQueries = ReturnType<typeof testimonyQueriesFor>

export function testimonyQueriesFor(schema: string) {
  const [testimonies, records, states] = [`${schema}.testimonies`, `${schema}.records`, `${schema}.effect_states`]
  const named = 'downstream_key = ANY ($1::text[])'
  return {
    /**
     * A doubt about what is testified is due from then on: whoever would have acted on it at once may be gone. What is open is
     * locked as well, until this is on record: its holder, and whoever is about to leave a doubt to people, waits and knows of
     * this by then; batches pass it by. Rows are locked in the order of their ids, so that two testimonies cannot wait for each
     * other. Those who renew or settle many effects at once keep no order: of them and an event about several effects PostgreSQL
     * may end one, which tries again.
     */
    testify: {
      text: `WITH t AS MATERIALIZED (SELECT ${schema}.clock() AS now),
      held AS MATERIALIZED (SELECT id, status FROM ${records}
        WHERE id = ANY (ARRAY(SELECT record_id FROM ${schema}.calls WHERE ${named}))
          AND status NOT IN ('completed', 'expired') ORDER BY id FOR UPDATE),
      r AS (UPDATE ${records} SET reconcile_after = t.now, ${moved} FROM t
        WHERE id = ANY (ARRAY(SELECT id FROM held WHERE held.status = 'unknown'))),
      held_effects AS MATERIALIZED (SELECT effect_id, state FROM ${states}
        WHERE effect_id = ANY (ARRAY(SELECT id FROM ${schema}.effects WHERE ${named}))
          AND state NOT IN ('done', 'discarded') ORDER BY effect_id FOR UPDATE),
      e AS (UPDATE ${states} SET reconcile_after = t.now FROM t
        WHERE effect_id = ANY (ARRAY(SELECT effect_id FROM held_effects WHERE held_effects.state = 'unknown')))
      INSERT INTO ${testimonies} (downstream_key, says, result, said_by, why, said_at)
      SELECT downstream_key, says, result, said_by, why, now FROM t,
        unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[])
        WITH ORDINALITY AS asked(downstream_key, says, result, said_by, why, position) ORDER BY position`,
      gives: [],
      plan: 'fresh',
    },
    testimonies: {
      text: `SELECT downstream_key, says, result, said_by, why, ${milliseconds('said_at')} FROM ${testimonies}
      WHERE downstream_key = ANY ($1::text[]) ORDER BY id`,
      gives: ['downstream_key', 'says', 'result', 'said_by', 'why', 'said_at'],
      plan: 'fresh',
    },
    /**
     * Those that stay are marked, so that they are not looked at again. What they are about is asked for one by one: of an
     * EXISTS the planner would make a hash of the whole table.
     */
    reapTestimonies: {
      text: `WITH old AS MATERIALIZED (
        SELECT id, coalesce((SELECT true FROM ${schema}.calls c WHERE c.downstream_key = o.downstream_key),
          (SELECT true FROM ${schema}.effects e WHERE e.downstream_key = o.downstream_key), false) AS is_known
        FROM ${testimonies} o WHERE is_known = 0 AND said_at <= ${schema}.clock() - $2::bigint * interval '1 millisecond'
        ORDER BY said_at LIMIT $1 FOR UPDATE SKIP LOCKED),
      k AS (UPDATE ${testimonies} SET is_known = 1 WHERE id = ANY (ARRAY(SELECT id FROM old WHERE old.is_known))),
      d AS (DELETE FROM ${testimonies} WHERE id = ANY (ARRAY(SELECT id FROM old WHERE NOT old.is_known)))
      SELECT is_known FROM old`,
      gives: ['is_known'],
      plan: 'fresh',
    },
  } as const satisfies Record<string, Query>
}

export function ofTestimonies(testimonies: readonly Testimony[]): readonly string[] {
  return [
    testimonies.map(({ downstreamKey }) => downstreamKey),
    testimonies.map(({ says }) => says),
    testimonies.map(({ result }) => result ?? null),
    testimonies.map(({ by }) => by),
    testimonies.map(({ why }) => why),
  ].map(arrayOf)
}
