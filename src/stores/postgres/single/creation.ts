import type { StoredRecord } from '../../../engine/record.js'
import { columns } from '../../sql/row.js'
import { written } from '../columns.js'
import type { Asked, Query } from '../connections.js'
import { expiresAt, retained } from '../fragments.js'

/**
 * How a record is written that is taken for the first time and completed in the same transaction. It fails when somebody else
 * has the key, so that a COMMIT which travels with it commits nothing.
 */
export type CreationQuery = (digest: Uint8Array, record: StoredRecord) => Asked

/** What tells such records apart. What all of them have in common is not sent, but stands in the statement. */
const sent = [
  'claim_id',
  'operation',
  'request_fingerprint',
  'on_lease_over',
  'response_status_code',
  'response_headers',
  'response_body',
  'response_withheld_bytes',
  'response_schema_version',
  'traceparent',
  'tombstone_ms',
  'retention_ms',
  'created_at',
] as const satisfies readonly (keyof typeof columns)[]

export function creationOn(schema: string): CreationQuery {
  const first = 4
  const value = (name: (typeof sent)[number]) => written(name, first + sent.indexOf(name))
  const query: Query = {
    text: `INSERT INTO ${schema}.records (digest, scope_id, idempotency_key, ${sent.join(', ')}, last_run_at, completed_at, expires_at,
        committed_in, generation, fence, attempt, status, recovery_point, evidence)
      SELECT $1, $2, $3, ${sent.map(value).join(', ')}, ${value('created_at')}, t.now, ${retained(`${value('retention_ms')}::bigint`)},
        pg_current_xact_id(), 1, 1, 1, 'completed', 'finished', '[]'
      FROM (SELECT ${schema}.clock() AS now) t RETURNING ${expiresAt}, committed_in`,
    gives: ['expires_at', 'committed_in'],
  }
  return (digest, record) => ({
    query,
    values: [digest, record.scope, record.key, ...sent.map((name) => columns[name](record))],
  })
}
