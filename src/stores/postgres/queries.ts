import type { Dialect } from '../sql/listing.js'
import { milliseconds, selected, whole, written } from './columns.js'
import type { Query } from './connections.js'
import {
  completable,
  completed,
  expirable,
  expiresAt,
  held,
  moved,
  parameter,
  renewable,
  renewed,
  reserved,
  reservedColumns,
  unfinished,
} from './fragments.js'
import { listingDialect } from './listing-dialect.js'
import { reapingFor } from './reaping.js'

/**
 * Every statement on the records, for one schema. None leaves anything behind in its session, so that all of them pass
 * through a pooler in transaction mode. Only `clock()` says what is over. A batch of ids is gathered into an array, since
 * as a subselect it would be joined by reading the whole table.
 */
export type Queries = ReturnType<typeof queriesFor>

/** By time alone; one with effects waits for the reaper. */
const expired = `(${expirable} AND has_effects = 0)`

/** By its bytes, as its indexes have it: in another order a tenant's scopes do not stand together. */
const scope = 'scope_id COLLATE "C"'

/** When whoever goes on with it may: the end of a lease, or the time that a failure says. */
const goesOnAt = 'coalesce(locked_until, reconcile_after)'

const done = ['done']

export function queriesFor(schema: string) {
  const records = `${schema}.records`
  const clock = `${schema}.clock()`
  const active = `status <> 'expired' AND NOT (${expired} AND expires_at <= (SELECT ${clock}))`
  const now = `(SELECT ${clock} AS now) t`
  const read = `SELECT ${milliseconds(clock)}, committed_in, ${selected(whole)} FROM ${records} WHERE digest = $1`
  const update = (names: readonly string[]) =>
    `UPDATE ${records} SET ${names.map((name, index) => `${name} = ${written(name, index + 3)}, `).join('')}${moved}
      WHERE digest = $1 AND revision = $2::bigint RETURNING committed_in`
  const readGives = ['now', 'committed_in', ...whole]
  /** The first that fits, of those who have records, and of those who have tombstones alone. */
  const firstScope = (fits: string) =>
    `least(${[`<> 'expired'`, `= 'expired'`]
      .map(
        (status) =>
          `(SELECT r.scope_id FROM ${records} r WHERE r.status ${status} AND r.${scope} ${fits} ORDER BY r.${scope} LIMIT 1) COLLATE "C"`,
      )
      .join(', ')})`
  return {
    /**
     * A new key in one round trip; no row when the key is known. A key that is known draws no number from the sequence,
     * since that would be a write.
     */
    insert: {
      text: `INSERT INTO ${records} (${reservedColumns}) SELECT ${reserved(parameter)}
      FROM ${now} WHERE NOT EXISTS (SELECT FROM ${records} WHERE digest = $1)
      ON CONFLICT (digest) DO NOTHING RETURNING id, ${milliseconds('created_at')}`,
      gives: ['id', 'now'],
    },

    find: { text: read, gives: readGives },
    lock: { text: `${read} FOR UPDATE`, gives: readGives },
    /** Writes only if the row is still the one that was judged. */
    update: (names: readonly string[]) => ({ text: update(names), gives: ['committed_in'] }),
    /** The same, and in the same statement a call that begins. A key that was sent before is the same call. */
    updateBeginning: (names: readonly string[]) => ({
      text: `WITH w AS (${update(names)}, id, scope_id, operation, generation),
      c AS (INSERT INTO ${schema}.calls (downstream_key, phase, record_id, scope_id, operation, generation, state, begun_at)
        SELECT $${names.length + 3}, $${names.length + 4}, id, scope_id, operation, generation, 'begun', ${clock} FROM w
        ON CONFLICT (downstream_key) DO UPDATE SET state = 'begun', ended_at = NULL, record_id = excluded.record_id,
          generation = excluded.generation, begun_at = CASE WHEN calls.record_id = excluded.record_id THEN calls.begun_at ELSE excluded.begun_at END)
      SELECT committed_in FROM w`,
      gives: ['committed_in'],
    }),
    /** The same, and in the same statement how a call ended. */
    updateEnding: (names: readonly string[]) => ({
      text: `WITH w AS (${update(names)}),
      c AS (UPDATE ${schema}.calls SET state = $${names.length + 4}, ended_at = ${clock} FROM w WHERE downstream_key = $${names.length + 3})
      SELECT committed_in FROM w`,
      gives: ['committed_in'],
    }),
    /** With its calls, which came to nothing. What was said about them is nobody's business here: see the reaper. */
    remove: {
      text: `WITH gone AS (DELETE FROM ${records} WHERE digest = $1 AND revision = $2::bigint RETURNING id),
      c AS (DELETE FROM ${schema}.calls WHERE record_id = ANY (ARRAY(SELECT id FROM gone)))
      SELECT 1 FROM gone`,
      gives: done,
    },

    renew: {
      text: `UPDATE ${records} SET ${renewed(parameter)} FROM ${now} WHERE ${held(parameter)} AND ${renewable} RETURNING 1`,
      gives: done,
    },
    complete: {
      text: `UPDATE ${records} SET ${completed(parameter)} FROM ${now} WHERE ${held(parameter)} AND ${completable}
      RETURNING ${expiresAt}, committed_in`,
      gives: ['expires_at', 'committed_in'],
    },

    sweep: {
      text: `UPDATE ${records} SET status = 'unknown', locked_until = NULL, reconcile_after = t.now,
        last_error_code = 'in_progress_lock_expired', doubted_at = t.now, looks = 0, ${moved}
      FROM ${now} WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ${clock}
        ORDER BY locked_until LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING ${selected(whole)}`,
      gives: whole,
    },
    /** Who said that it failed has had the last word, and its claim ends. */
    abandon: {
      text: `UPDATE ${records} SET status = 'unknown', locked_until = NULL, reconcile_after = NULL,
        last_error_code = 'abandoned', doubted_at = t.now, looks = 0,
        claim_id = CASE status WHEN 'failed_retryable' THEN '' ELSE claim_id END, ${moved}
      FROM ${now} WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE ${unfinished} AND expires_at <= ${clock}
          AND (${goesOnAt} IS NULL OR (${goesOnAt} <= ${clock} AND operation <> ALL ($2::text[])))
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING ${selected(whole)}`,
      gives: whole,
    },
    interrupted: {
      text: `SELECT ${selected(whole)} FROM (
        (SELECT * FROM ${records} WHERE status = 'in_progress' AND on_lease_over = 'resume' AND locked_until <= ${clock}
          AND operation = ANY ($2::text[]) ORDER BY locked_until LIMIT $1)
        UNION ALL
        (SELECT * FROM ${records} WHERE status = 'failed_retryable' AND reconcile_after <= ${clock}
          AND operation = ANY ($2::text[]) ORDER BY reconcile_after LIMIT $1)) r LIMIT $1`,
      gives: whole,
    },
    doubts: {
      text: `UPDATE ${records} SET reconcile_after = t.now + $3::bigint * interval '1 millisecond', ${moved}
      FROM ${now} WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE status = 'unknown' AND reconcile_after <= ${clock} AND operation = ANY ($2::text[])
        ORDER BY reconcile_after LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING ${selected(whole)}`,
      gives: whole,
    },
    ...reapingFor(schema),

    listing: listingDialect(schema),

    /**
     * From one tenant to the next, without walking what lies between. The scopes of one tenant stand in two places, itself and
     * behind its semicolon: where it stands in both, it counts in the first.
     */
    tenants: {
      text: `WITH RECURSIVE walked AS (
        SELECT ${firstScope('> $1')} AS scope_id, 1 AS n
        UNION ALL
        SELECT ${firstScope(`>= (CASE WHEN strpos(w.scope_id, ';') = 0
            THEN w.scope_id || chr(1) ELSE split_part(w.scope_id, ';', 1) || '<' END) COLLATE "C"`)}, n + 1
        FROM walked w WHERE w.scope_id IS NOT NULL AND n <= $2)
      SELECT scope_id, strpos(scope_id, ';') = 0
        OR ${firstScope(`= split_part(w.scope_id, ';', 1)`)} IS NULL FROM walked w WHERE scope_id IS NOT NULL ORDER BY n`,
      gives: ['scope_id', 'is_first'],
      plan: 'fresh',
    },

    /** Two ranges of one index, and not one OR, so that it can stop once there are enough. The clock is read once. */
    usage: {
      text: `SELECT count(*), coalesce(sum(bytes), 0) FROM (
        SELECT octet_length(response_body) AS bytes FROM ${records} WHERE ${scope} = $1 AND ${active}
        UNION ALL SELECT octet_length(response_body) FROM ${records} WHERE ${scope} >= $2 AND ${scope} < $3 AND ${active}
        LIMIT $4) r`,
      gives: ['keys', 'bytes'],
    },
  } as const satisfies Record<string, Query | Dialect | ((given: never) => Query)>
}
