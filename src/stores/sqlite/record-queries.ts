import type { Dialect } from '../sql/listing.js'
import { columns } from '../sql/row.js'

/** Every statement on the records. Conditions repeat those of the partial indexes, or else SQLite ignores these. */

const named = ['id', 'scope_id', 'idempotency_key', ...Object.keys(columns)]

const whole = named.join(', ')

/** The reaper throws bodies away and need not load them. */
const withoutBody = whole.replace('response_body', "x'' AS response_body")

const expires = `(status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started')) AND is_begun = 0`

const active = `status <> 'expired' AND NOT (${expires} AND has_effects = 0 AND expires_at <= ?)`

const unfinished = `CASE status WHEN 'in_progress' THEN on_lease_over = 'resume'
    WHEN 'failed_retryable' THEN recovery_point <> 'started' OR is_begun = 1 ELSE 0 END`

/** When whoever goes on with it may: the end of a lease, or the time that a failure says. */
const goesOnAt = 'coalesce(locked_until, reconcile_after)'

const openEffects = `EXISTS (SELECT 1 FROM hapax_effect_states e
    WHERE e.record_id = hapax_records.id AND e.state NOT IN ('done', 'discarded'))`

/** What the reaper takes: `?1` is the time, `?2` how many. */
const expired = `FROM hapax_records
    WHERE ${expires} AND expires_at <= ?1 AND NOT (has_effects = 1 AND ${openEffects})
    ORDER BY expires_at LIMIT ?2`
const forgotten = `FROM hapax_records
    WHERE status = 'expired' AND expires_at + tombstone_ms <= ?1 AND NOT ${openEffects}
    ORDER BY expires_at + tombstone_ms LIMIT ?2`

export const recordQueries = {
  /** `hapax_clock` is empty unless a test has pinned the time. */
  now: `SELECT coalesce((SELECT pinned_at FROM hapax_clock),
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) AS now`,
  lastId: `SELECT seq FROM sqlite_sequence WHERE name = 'hapax_records'`,
  find: `SELECT ${whole} FROM hapax_records WHERE digest = ?`,
  findById: `SELECT ${whole} FROM hapax_records WHERE id = ?`,
  insert: (names: readonly string[]) =>
    `INSERT INTO hapax_records (id, digest, scope_id, idempotency_key, ${names.join(', ')})
     VALUES (?, ?, ?, ?, ${names.map(() => '?').join(', ')})`,
  update: (names: readonly string[]) =>
    `UPDATE hapax_records SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`,
  remove: 'DELETE FROM hapax_records WHERE digest = ?',
  overdue: `SELECT ${whole} FROM hapax_records
    WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ?
    ORDER BY locked_until LIMIT ?`,
  unfinished: (operations: readonly string[]) => `SELECT ${whole} FROM hapax_records
    WHERE ${unfinished} AND expires_at <= ? AND (${goesOnAt} IS NULL OR (${goesOnAt} <= ? AND NOT ${among(operations)}))
    ORDER BY expires_at LIMIT ?`,
  interrupted: (operations: readonly string[]) => `SELECT * FROM (
      SELECT ${whole} FROM hapax_records WHERE status = 'in_progress' AND on_lease_over = 'resume' AND locked_until <= ?
        AND ${among(operations)}
      UNION ALL SELECT ${whole} FROM hapax_records WHERE status = 'failed_retryable' AND reconcile_after <= ?
        AND ${among(operations)}) LIMIT ?`,
  doubts: (operations: readonly string[]) => `SELECT ${whole} FROM hapax_records
    WHERE status = 'unknown' AND reconcile_after <= ? AND ${among(operations)}
    ORDER BY reconcile_after LIMIT ?`,
  expired: `SELECT ${withoutBody} ${expired}`,
  forgotten: `SELECT ${withoutBody} ${forgotten}`,
  reapable: `SELECT (SELECT count(*) FROM (SELECT 1 ${expired})) AS buried,
    (SELECT count(*) FROM (SELECT 1 ${forgotten})) AS deleted`,
  /** From one tenant to the next, without walking what lies between. See PostgreSQL's. */
  tenants: `WITH RECURSIVE walked(scope_id, n) AS (
      SELECT (SELECT scope_id FROM hapax_records WHERE scope_id > ?1 ORDER BY scope_id LIMIT 1), 1
      UNION ALL
      SELECT (SELECT r.scope_id FROM hapax_records r WHERE r.scope_id >= CASE WHEN instr(w.scope_id, ';') = 0
          THEN w.scope_id || char(1) ELSE substr(w.scope_id, 1, instr(w.scope_id, ';') - 1) || '<' END ORDER BY r.scope_id LIMIT 1), n + 1
      FROM walked w WHERE w.scope_id IS NOT NULL AND n <= ?2)
    SELECT scope_id, instr(scope_id, ';') = 0 OR NOT EXISTS (SELECT 1 FROM hapax_records r
      WHERE r.scope_id = substr(w.scope_id, 1, instr(w.scope_id, ';') - 1)) AS is_first
    FROM walked w WHERE scope_id IS NOT NULL ORDER BY n`,
  /** Two ranges of the index on scopes, and not one OR, so that it can stop once there are enough. */
  usage: `SELECT count(*) AS keys, coalesce(sum(bytes), 0) AS bytes FROM (
      SELECT length(response_body) AS bytes FROM hapax_records WHERE scope_id = ? AND ${active}
      UNION ALL SELECT length(response_body) FROM hapax_records WHERE scope_id >= ? AND scope_id < ? AND ${active}
      LIMIT ?)`,
} as const

/** How a list is spelled here: texts are in the order of their bytes, and times are numbers. */
export const listing: Dialect = {
  table: 'hapax_records',
  select: whole,
  parameter: (n) => `?${n}`,
  time: (parameter) => parameter,
  byBytes: (column) => column,
  // With a partial one, what is in progress would be looked for in the whole table.
  keysIndexed: 'all',
  scopesIndexed: 'all',
  resource: (parameter) => `${location} = ${parameter}`,
}

/** The first value behind the name, which may be spelled in any case. */
const location = `(SELECT json_extract(value, '$[1]') FROM json_each(response_headers) WHERE lower(json_extract(value, '$[0]')) = 'location' LIMIT 1)`

function among(operations: readonly string[]): string {
  return `operation IN (${operations.map(() => '?').join(', ')})`
}
