import type { Query } from '../connections.js'

/** Who is next in an order, once all before it are final. */
export type TurnQueries = ReturnType<typeof turnQueriesFor>

/**
 * The first of an order that is not final. It is not asked for by equality: where nearly all that there are wait in one
 * order, the planner would look for any other by reading through them. A range has to be read from the index, in its order.
 */
export function firstOf(states: string, ordering: string): string {
  return `SELECT effect_id, is_next FROM ${states} WHERE ordering IS NOT NULL AND ordering >= ${ordering}
        AND ordering <= ${ordering} AND state NOT IN ('done', 'discarded') ORDER BY ordering, effect_id LIMIT 1`
}

export function turnQueriesFor(schema: string) {
  const states = `${schema}.effect_states`
  /** Of each of these orders the first that is not final, if it still waits. */
  const firsts = (orders: string) => `SELECT f.effect_id FROM ${orders} o, LATERAL (${firstOf(states, 'o.ordering')}) f
      WHERE f.is_next = 0`
  /** Whoever is locked is being told by somebody else. */
  const told = (
    ids: string,
  ) => `UPDATE ${states} SET is_next = 1 WHERE effect_id = ANY (ARRAY(SELECT effect_id FROM ${states}
      WHERE effect_id = ANY (ARRAY(${ids})) AND is_next = 0 ORDER BY effect_id FOR UPDATE SKIP LOCKED)) RETURNING 1`
  return {
    /**
     * In these orders one has become final. This is a statement of its own, and not a part of the one that ended it: it must
     * see whatever was written behind that one until then.
     */
    tell: {
      text: told(firsts('(SELECT DISTINCT unnest($1::text[]) AS ordering)')),
      gives: ['done'],
      plan: 'fresh',
    },
    /**
     * Looks after those who were not told: `$2` orders in which somebody waits, beginning behind the order `$1`. One probe
     * of the index leads from each order to the next, however many wait in it. Gives where to go on.
     */
    look: {
      text: `WITH RECURSIVE o(ordering, position) AS (
        (SELECT ordering, 1 FROM ${states} WHERE is_next = 0 AND ordering > $1::text ORDER BY ordering LIMIT 1)
        UNION ALL SELECT w.ordering, o.position + 1 FROM o, LATERAL (SELECT ordering FROM ${states}
          WHERE is_next = 0 AND ordering > o.ordering ORDER BY ordering LIMIT 1) w WHERE o.position < $2::bigint),
      told AS (${told(firsts('o'))})
      SELECT (SELECT count(*) FROM told), (SELECT ordering FROM o WHERE position = $2::bigint)`,
      gives: ['told', 'next'],
      plan: 'fresh',
    },
  } as const satisfies Record<string, Query>
}
