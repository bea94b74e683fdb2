import type { Measured } from '../../engine/measured.js'
import { invariant } from '../../kernel/errors.js'
import type { Connection } from './connection.js'

/** Counts what there is, along indexes, up to a bound. */
export interface Measurement {
  take(now: number, atMost: number): Measured
}

/** `?1` is the bound. Conditions repeat those of the partial indexes, or else SQLite ignores these. */
const upTo = (what: string, from: string, order: string) =>
  `SELECT * FROM (SELECT ${what} FROM ${from} ORDER BY ${order} LIMIT ?1)`

const states = 'hapax_effect_states'
const running = (onLeaseOver: 'doubt' | 'resume') =>
  upTo('last_run_at', `hapax_records WHERE status = 'in_progress' AND on_lease_over = '${onLeaseOver}'`, 'locked_until')

export const measureQueries = {
  inProgress: `SELECT count(*) AS count, min(last_run_at) AS since FROM (${running('doubt')} UNION ALL ${running('resume')})`,
  unknown: `SELECT count(*) AS count, min(doubted_at) AS since, count(*) - count(reconcile_after) AS left_alone
    FROM (${upTo('doubted_at, reconcile_after', `hapax_records WHERE status = 'unknown'`, 'doubted_at')})`,
  /** All others: what is completed or may simply run again, and what is half done. */
  others: `SELECT count(*) AS count FROM (
    ${upTo('1', `hapax_records WHERE status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started')`, 'expires_at')}
    UNION ALL
    ${upTo('1', `hapax_records WHERE status = 'failed_retryable' AND recovery_point <> 'started'`, 'id')})`,
  waiting: `SELECT count(*) AS count FROM (
    ${upTo('1', `${states} WHERE state = 'ready' AND is_next = 1`, 'due_at, effect_id')}
    UNION ALL ${upTo('1', `${states} WHERE is_next = 0`, 'ordering, effect_id')})`,
  /** Of those that are ready and of those whose lease is over, the first. */
  claimable: `SELECT 0 AS count, min(at) AS since FROM (
    SELECT min(due_at) AS at FROM ${states} WHERE state = 'ready' AND is_next = 1
    UNION ALL ${upTo('leased_until', `${states} WHERE state = 'leased' AND on_lease_over = 'resume' AND is_next = 1`, 'leased_until')})`,
  effectDoubts: `SELECT count(*) AS count, min(doubted_at) AS since, count(*) - count(reconcile_after) AS left_alone
    FROM (${upTo('doubted_at, reconcile_after', `${states} WHERE state = 'unknown'`, 'effect_id')})`,
  dead: `SELECT count(*) AS count FROM (${upTo('1', `${states} WHERE state = 'dead'`, 'effect_id')})`,
} as const

interface Row {
  readonly count: number
  readonly since?: number | null
  readonly left_alone?: number
}

export function measurement(connection: Connection): Measurement {
  const asked = Object.entries(measureQueries).map(([name, sql]) => [name, connection.prepare<Row>(sql)] as const)
  const statements = Object.fromEntries(asked) as Record<keyof typeof measureQueries, (typeof asked)[number][1]>

  return {
    take(now, atMost) {
      const read = (name: keyof typeof measureQueries) => {
        const row = statements[name].get([atMost])
        invariant(row, 'a count gives one row')
        return row
      }
      const counted = (row: Row) => ({ count: Math.min(row.count, atMost), oldestMs: ageOf(row.since, now) })
      const doubts = (row: Row) => ({ ...counted(row), leftToOperator: row.left_alone ?? 0 })
      const inProgress = counted(read('inProgress'))
      const unknown = doubts(read('unknown'))
      const keys = read('others').count + inProgress.count + unknown.count
      return {
        keys: Math.min(keys, atMost),
        inProgress,
        unknown,
        effects: {
          waiting: Math.min(read('waiting').count, atMost),
          lagMs: ageOf(read('claimable').since, now),
          unknown: doubts(read('effectDoubts')),
          dead: read('dead').count,
        },
      }
    },
  }
}

function ageOf(since: number | null | undefined, now: number): number {
  return Math.max(0, now - (since ?? now))
}
