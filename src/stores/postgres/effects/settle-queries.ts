import type { Query } from '../connections.js'

/** How claims on effects end: many in one statement, and one of them as the last write of a transaction. */
export type SettleQueries = ReturnType<typeof settleQueriesFor>

/** What each outcome leads to. */
const stateAfter = `CASE a.outcome WHEN 'done' THEN 'done' WHEN 'unknown' THEN 'unknown' WHEN 'dead' THEN 'dead' ELSE 'ready' END`

/**
 * The last claim may still say that a doubt is done which nobody has resolved: it was only slow. It gives back only what has
 * not begun.
 */
const mayEnd = `((s.state = 'leased' AND NOT (a.outcome = 'release' AND s.on_lease_over = 'doubt'))
  OR (s.state = 'unknown' AND a.outcome = 'done'))`

/** Given back, the first claim of all never was: whoever failed, was swept or redriven since then has left an error. */
const firstStartedAt = `CASE WHEN a.outcome = 'release' AND s.started = 1 AND s.last_error_code IS NULL THEN NULL ELSE s.first_started_at END`

const ended = `state = ${stateAfter}, leased_until = NULL, on_lease_over = 'resume',
  due_at = CASE WHEN a.outcome IN ('retry', 'release') THEN coalesce(a.now + a.after * interval '1 millisecond', s.due_at) ELSE s.due_at END,
  started = s.started - CASE a.outcome WHEN 'release' THEN 1 ELSE 0 END,
  finished = CASE a.outcome WHEN 'release' THEN s.finished ELSE least(s.finished + 1, s.started) END,
  first_started_at = ${firstStartedAt},
  provider_id = CASE a.outcome WHEN 'done' THEN a.provider_id ELSE s.provider_id END,
  result = CASE a.outcome WHEN 'done' THEN a.result ELSE s.result END,
  last_error_code = CASE a.outcome WHEN 'done' THEN NULL WHEN 'release' THEN s.last_error_code ELSE a.error_code END,
  looks = 0, doubted_at = CASE a.outcome WHEN 'unknown' THEN a.now END,
  reconcile_after = CASE a.outcome WHEN 'unknown' THEN a.now + a.after * interval '1 millisecond' END,
  finished_at = CASE a.outcome WHEN 'done' THEN a.now END`

/** By whatever it is that `a` gives a row for each claim of. */
interface Way {
  readonly asked: string
  readonly set: string
  readonly mayEnd: string
  /** The same claim has ended it before in the same way and for the same reason: that reply was lost. */
  readonly isRepeated: string
}

const anyWay: Way = {
  asked: `unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bytea[])
      WITH ORDINALITY AS a(id, fence, outcome, after, error_code, provider_id, result, position)`,
  set: ended,
  mayEnd,
  isRepeated: `s.state = ${stateAfter} AND coalesce(a.error_code = s.last_error_code, a.error_code IS NULL)`,
}

/** Of those that are all done, as most are: without a case for each column it takes little more than half the time. */
const asDone: Way = {
  asked: `unnest($1::bigint[], $2::bigint[], $3::text[], $4::bytea[])
      WITH ORDINALITY AS a(id, fence, provider_id, result, position)`,
  set: `state = 'done', leased_until = NULL, on_lease_over = 'resume', finished = least(s.finished + 1, s.started),
  provider_id = a.provider_id, result = a.result, last_error_code = NULL, looks = 0, doubted_at = NULL, reconcile_after = NULL,
  finished_at = a.now`,
  mayEnd: `s.state IN ('leased', 'unknown')`,
  isRepeated: `s.state = 'done'`,
}

export function settleQueriesFor(schema: string) {
  const states = `${schema}.effect_states`
  const clock = `SELECT ${schema}.clock() AS now`
  const update = ({ set, mayEnd }: Way, from: string) => `UPDATE ${states} s SET ${set} FROM ${from} a
      WHERE s.effect_id = ANY (ARRAY(SELECT id FROM ${from} b)) AND s.effect_id = a.id AND s.fence = a.fence AND ${mayEnd}`
  /**
   * Gives the positions of those that it did not end, nor the same claim before. Only those that are missing are looked
   * for, which is hardly ever one, and by their ids: the offset keeps the planner from looking through all that are done.
   * And the orders in which the next may be told.
   */
  const settling = (way: Way) => ({
    text: `WITH t AS MATERIALIZED (${clock}), asked AS MATERIALIZED (SELECT a.*, t.now FROM t, ${way.asked}),
      u AS (${update(way, 'asked')} RETURNING s.effect_id, s.fence, CASE s.state WHEN 'done' THEN s.ordering END AS ordering),
      missing AS MATERIALIZED (SELECT * FROM asked a WHERE NOT EXISTS (SELECT FROM u WHERE u.effect_id = a.id AND u.fence = a.fence))
      SELECT ARRAY(SELECT a.position FROM missing a WHERE NOT EXISTS (
        SELECT FROM (SELECT * FROM ${states} o WHERE o.effect_id = a.id AND o.fence = a.fence OFFSET 0) s WHERE ${way.isRepeated}))::text,
      ARRAY(SELECT ordering FROM u WHERE ordering IS NOT NULL UNION
        SELECT s.ordering FROM missing a, LATERAL (SELECT ordering FROM ${states} WHERE effect_id = a.id OFFSET 0) s
        WHERE s.ordering IS NOT NULL)::text`,
    gives: ['refused', 'orders'],
    plan: 'fresh' as const,
  })
  return {
    settle: settling(anyWay),
    settleDone: settling(asDone),
    /** The last statement of a transaction. What the same claim has ended before does not end again. */
    finish: {
      text: update(
        asDone,
        `(SELECT $1::bigint AS id, $2::bigint AS fence, $3::text AS provider_id, $4::bytea AS result, now FROM (${clock}) t)`,
      ).concat(' RETURNING ARRAY(SELECT s.ordering WHERE s.ordering IS NOT NULL)::text'),
      gives: ['orders'],
    },
    /** Waits for a commit that is still under way. */
    isDone: {
      text: `SELECT state = 'done' FROM ${states} WHERE effect_id = $1 AND fence = $2 FOR UPDATE`,
      gives: ['is_done'],
    },
  } as const satisfies Record<string, Query>
}
