import type { Migration } from './migration.js'

/**
 * The record table, its indexes, and the clock that tests may pin.
 *
 * `expires_at` is never empty: a record that is kept for ever has the largest integer a JavaScript number can hold.
 * Each index holds only the rows its reader wants, so that neither sweeper nor reaper walks past live rows.
 */
export const records: Migration = {
  version: 1,
  name: '0001-records',
  sql: `
CREATE TABLE hapax_records (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL CHECK (length(digest) = 16),
  scope_id TEXT NOT NULL CHECK (length(scope_id) BETWEEN 1 AND 512),
  idempotency_key TEXT NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
  generation INTEGER NOT NULL CHECK (generation >= 1),
  fence INTEGER NOT NULL CHECK (fence >= 1),
  claim_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'failed_retryable', 'unknown', 'expired')),
  operation TEXT NOT NULL,
  request_fingerprint TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  locked_at INTEGER GENERATED ALWAYS AS (CASE status WHEN 'in_progress' THEN last_run_at END) VIRTUAL,
  locked_until INTEGER,
  on_lease_over TEXT NOT NULL CHECK (on_lease_over IN ('resume', 'doubt')),
  recovery_point TEXT NOT NULL,
  progress BLOB,
  response_status_code INTEGER,
  response_headers TEXT,
  response_body BLOB,
  response_withheld_bytes INTEGER,
  response_schema_version INTEGER,
  last_error_code TEXT,
  reconcile_after INTEGER,
  evidence TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_run_at INTEGER NOT NULL,
  completed_at INTEGER,
  expires_at INTEGER NOT NULL,
  retention_ms INTEGER,
  tombstone_ms INTEGER NOT NULL,
  CHECK ((status = 'in_progress') = (locked_until IS NOT NULL)),
  CHECK ((status = 'completed') = (response_status_code IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX hapax_records_digest ON hapax_records (digest);

CREATE INDEX hapax_records_scope ON hapax_records (scope_id);

CREATE INDEX hapax_records_open ON hapax_records (locked_until)
  WHERE status = 'in_progress' AND on_lease_over = 'doubt';

CREATE INDEX hapax_records_expires ON hapax_records (expires_at)
  WHERE status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started');

CREATE INDEX hapax_records_tombstones ON hapax_records (expires_at + tombstone_ms)
  WHERE status = 'expired';

CREATE TABLE hapax_clock (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  pinned_at INTEGER NOT NULL
) STRICT;
`,
}
