import type { Migration } from './migration.js'

/** What people did, and what they look for. See the migration 10 of PostgreSQL, which says why. */
export const audit: Migration = {
  version: 6,
  name: '0006-audit',
  sql: `
CREATE TABLE hapax_audit (
  sequence INTEGER PRIMARY KEY CHECK (sequence >= 1),
  at_ms INTEGER NOT NULL,
  who TEXT NOT NULL,
  action TEXT NOT NULL CHECK (action IN ('settle', 'purge', 'reconcile', 'redrive', 'discard')),
  scope_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  why TEXT NOT NULL CHECK (why <> ''),
  before TEXT NOT NULL,
  after TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE INDEX hapax_audit_subject ON hapax_audit (subject, sequence);

CREATE TABLE hapax_audit_head (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  sequence INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;

CREATE INDEX hapax_records_key ON hapax_records (idempotency_key);
CREATE INDEX hapax_records_doubts_listed ON hapax_records (id) WHERE status = 'unknown';
CREATE INDEX hapax_records_failures ON hapax_records (id) WHERE status = 'failed_retryable';
`,
}
