import { milliseconds } from './columns.js'
import type { Query } from './connections.js'

/**
 * What there is of each kind, up to a bound: each part walks the index that was made for it, and stops. Where more keys are on
 * record than are counted, the estimate of their index stands for them, which PostgreSQL keeps by itself. It is asked only then:
 * it tells of the last look of an autovacuum, which may be of rows that are long gone. Each order is one that only that index
 * has, so that no plan comes to walk another one and throw most of it away.
 */
export function measureQuery(schema: string): Query {
  const records = `${schema}.records`
  const states = `${schema}.effect_states`
  const claimableAt = 'coalesce(leased_until, due_at)'
  const live = `state IN ('ready', 'leased') AND on_lease_over = 'resume' AND is_next = 1`
  const running = (onLeaseOver: 'doubt' | 'resume') =>
    `(SELECT last_run_at FROM ${records} WHERE status = 'in_progress' AND on_lease_over = '${onLeaseOver}'
        ORDER BY locked_until LIMIT $1)`
  const doubtsOf = (from: string, order: string) =>
    `(SELECT count(*), min(doubted_at) AS since, count(*) FILTER (WHERE reconcile_after IS NULL) AS left_alone
        FROM (SELECT doubted_at, reconcile_after FROM ${from} ORDER BY ${order} LIMIT $1) d)`
  const estimate = `(SELECT reltuples::bigint FROM pg_class WHERE oid = '${schema}.records_live'::regclass)`
  const kept = `(SELECT count(*) FROM (SELECT FROM ${records} WHERE status <> 'expired'
        ORDER BY scope_id COLLATE "C" LIMIT $1) r)`
  const waiting = `(SELECT count(*) FILTER (WHERE state = 'ready') FROM (
        (SELECT state FROM ${states} WHERE ${live} ORDER BY ${claimableAt}, effect_id LIMIT $1)
        UNION ALL (SELECT state FROM ${states} WHERE is_next = 0 ORDER BY ordering, effect_id LIMIT $1)) w)`
  const claimable = `(SELECT ${claimableAt} FROM ${states} WHERE ${live} ORDER BY ${claimableAt}, effect_id LIMIT 1)`
  return {
    text: `SELECT ${milliseconds('t.now')}, CASE WHEN k.count < $1::bigint THEN k.count ELSE greatest(k.count, ${estimate}) END,
      p.count, ${milliseconds('p.since')}, u.count, ${milliseconds('u.since')}, u.left_alone,
      ${waiting}, ${milliseconds(claimable)}, e.count, ${milliseconds('e.since')}, e.left_alone,
      (SELECT count(*) FILTER (WHERE state = 'dead') FROM (SELECT state FROM ${states} WHERE state IN ('unknown', 'dead')
        ORDER BY state, effect_id LIMIT $1) d)
    FROM (SELECT ${schema}.clock() AS now OFFSET 0) t, ${kept} k,
      (SELECT count(*), min(last_run_at) AS since FROM (${running('doubt')} UNION ALL ${running('resume')}) r) p,
      ${doubtsOf(`${records} WHERE status = 'unknown'`, 'doubted_at')} u,
      ${doubtsOf(`${states} WHERE state = 'unknown'`, 'reconcile_after')} e`,
    gives: [
      'now',
      'keys',
      'running',
      'running_since',
      'unknown',
      'unknown_since',
      'unknown_left',
      'waiting',
      'claimable_at',
      'effects_unknown',
      'effects_unknown_since',
      'effects_unknown_left',
      'dead',
    ],
    plan: 'fresh',
  }
}
