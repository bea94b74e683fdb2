import { type State, states } from '../../engine/state.js'
import type { ListQuery } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import { milliseconds, selected, whole, written } from './columns.js'
import type { Query } from './connections.js'
import {
  completable,
  completed,
  expiresAt,
  held,
  moved,
  parameter,
  renewable,
  renewed,
  reserved,
  reservedColumns,
} from './fragments.js'

/**
 * Every statement on the records, for one schema. None leaves anything behind in its session, so that all of them pass
 * through a pooler in transaction mode. Only `clock()` says what is over. A batch of ids is gathered into an array, since
 * as a subselect it would be joined by reading the whole table.
 */
export type Queries = ReturnType<typeof queriesFor>

const expired = `(status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started'))`

/** When a tombstone has stood its time, as its index has it. */
const forgettable = `(expires_at AT TIME ZONE 'UTC' + tombstone_ms * interval '1 millisecond')`

/** By its bytes, as the index of what is active has it: in another order a tenant's scopes do not stand together. */
const scope = 'scope_id COLLATE "C"'

const done = ['done']

export function queriesFor(schema: string) {
  const records = `${schema}.records`
  const clock = `${schema}.clock()`
  const active = `status <> 'expired' AND NOT (${expired} AND expires_at <= (SELECT ${clock}))`
  const now = `(SELECT ${clock} AS now) t`
  const read = `SELECT ${milliseconds(clock)}, committed_in, ${selected(whole)} FROM ${records} WHERE digest = $1`
  const readGives = ['now', 'committed_in', ...whole]
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
    update: (names: readonly string[]) => ({
      text: `UPDATE ${records} SET ${names.map((name, index) => `${name} = ${written(name, index + 3)}, `).join('')}${moved}
      WHERE digest = $1 AND revision = $2::bigint RETURNING committed_in`,
      gives: ['committed_in'],
    }),
    remove: { text: `DELETE FROM ${records} WHERE digest = $1 AND revision = $2::bigint RETURNING 1`, gives: done },

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
        last_error_code = 'in_progress_lock_expired', ${moved}
      FROM ${now} WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ${clock}
        ORDER BY locked_until LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING ${selected(whole)}`,
      gives: whole,
    },
    bury: {
      text: `UPDATE ${records} SET status = 'expired', response_status_code = NULL, response_headers = NULL, response_body = NULL,
        response_withheld_bytes = NULL, response_schema_version = NULL, progress = NULL, ${moved}
      WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE ${expired} AND expires_at <= ${clock}
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING 1`,
      gives: done,
    },
    forget: {
      text: `DELETE FROM ${records} WHERE id = ANY (ARRAY(
        SELECT id FROM ${records} WHERE status = 'expired' AND ${forgettable} <= ${clock} AT TIME ZONE 'UTC'
        ORDER BY ${forgettable} LIMIT $1 FOR UPDATE SKIP LOCKED))
      RETURNING 1`,
      gives: done,
    },

    /** The state is part of the text, so that an index of some states can be used. */
    list: ({ scope, state }: Pick<ListQuery, 'scope' | 'state'>) => ({
      text: `SELECT ${selected(whole)} FROM ${records} WHERE id > $1::bigint
        ${scope === undefined ? '' : 'AND scope_id = $3'} ${state === undefined ? '' : `AND status = '${checked(state)}'`}
      ORDER BY id LIMIT $2`,
      gives: whole,
    }),

    /** Two ranges of one index, and not one OR, so that it can stop once there are enough. The clock is read once. */
    usage: {
      text: `SELECT count(*), coalesce(sum(bytes), 0) FROM (
        SELECT octet_length(response_body) AS bytes FROM ${records} WHERE ${scope} = $1 AND ${active}
        UNION ALL SELECT octet_length(response_body) FROM ${records} WHERE ${scope} >= $2 AND ${scope} < $3 AND ${active}
        LIMIT $4) r`,
      gives: ['keys', 'bytes'],
    },
  } as const satisfies Record<string, Query | ((given: never) => Query)>
}

function checked(state: State): State {
  invariant(states.includes(state), 'a state is one of those that there are')
  return state
}
