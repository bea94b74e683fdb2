import type { Migration } from './migration.js'

/**
 * The record table and its indexes, and the clock by which the store judges.
 *
 * `revision` rises with every write, so that a write can say which version of the row it was judged on. Bodies are
 * bytes, never JSONB, which reorders members and refuses some texts after the effect has happened. Times are never
 * compared with a caller's clock: every statement asks `clock()`, which a test may replace in its own schema.
 *
 * A row is found by a digest of its scope and key, in 16 bytes. The database checks that digest itself, so that it is
 * the database which promises that a scope and a key have one row, whoever writes it.
 */
export const records: Migration = {
  version: 1,
  name: '0001-records',
  sql: (schema) => [
    `CREATE FUNCTION ${schema}.digest(scope text, key text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
  AS $$ SELECT substr(sha256(
    decode('00000000000e', 'hex') || convert_to('hapax record 1', 'UTF8') ||
    decode(lpad(to_hex(octet_length(scope)), 12, '0'), 'hex') || convert_to(scope, 'UTF8') ||
    decode(lpad(to_hex(octet_length(key)), 12, '0'), 'hex') || convert_to(key, 'UTF8')), 1, 16) $$`,
    `CREATE TABLE ${schema}.records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest bytea NOT NULL,
  revision bigint NOT NULL DEFAULT 1,
  committed_in xid8,
  scope_id text NOT NULL CHECK (char_length(scope_id) BETWEEN 1 AND 512),
  idempotency_key text NOT NULL CHECK (char_length(idempotency_key) BETWEEN 1 AND 255),
  generation bigint NOT NULL CHECK (generation >= 1),
  fence bigint NOT NULL CHECK (fence >= 1),
  claim_id text NOT NULL,
  status text NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired')),
  operation text NOT NULL,
  request_fingerprint text NOT NULL,
  attempt bigint NOT NULL CHECK (attempt >= 1),
  locked_until timestamptz,
  on_lease_over text NOT NULL CHECK (on_lease_over IN ('resume', 'doubt')),
  recovery_point text NOT NULL,
  progress bytea,
  response_status_code integer,
  response_headers text,
  response_body bytea,
  response_withheld_bytes bigint,
  response_schema_version integer,
  last_error_code text,
  reconcile_after timestamptz,
  evidence text NOT NULL,
  created_at timestamptz NOT NULL,
  last_run_at timestamptz NOT NULL,
  completed_at timestamptz,
  expires_at timestamptz NOT NULL,
  retention_ms bigint,
  tombstone_ms bigint NOT NULL,
  CHECK (digest = ${schema}.digest(scope_id, idempotency_key)),
  CHECK ((status = 'in_progress') = (locked_until IS NOT NULL)),
  CHECK ((status = 'completed') = (response_status_code IS NOT NULL))
)`,
    // Quicker than the usual compression and about as small. A server that was built without it keeps the usual one.
    `DO $$ BEGIN
  ALTER TABLE ${schema}.records ALTER COLUMN response_body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$`,
    `CREATE UNIQUE INDEX records_digest ON ${schema}.records (digest)`,
    `CREATE INDEX records_scope ON ${schema}.records (scope_id, id)`,
    // What waits for somebody: the operator's queue.
    `CREATE INDEX records_unsettled ON ${schema}.records (status, id) WHERE status IN ('unknown', 'failed_retryable')`,
    `CREATE INDEX records_open ON ${schema}.records (locked_until)
  WHERE status = 'in_progress' AND on_lease_over = 'doubt'`,
    `CREATE INDEX records_expires ON ${schema}.records (expires_at)
  WHERE status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started')`,
    // In UTC, because a sum of times that depends on a time zone cannot be indexed.
    `CREATE INDEX records_tombstones
  ON ${schema}.records ((expires_at AT TIME ZONE 'UTC' + tombstone_ms * interval '1 millisecond')) WHERE status = 'expired'`,
    `CREATE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
  AS $$ SELECT date_trunc('milliseconds', clock_timestamp()) $$`,
  ],
}
