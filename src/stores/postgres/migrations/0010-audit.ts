import type { Migration } from './migration.js'

/**
 * What people did, and what they look for.
 *
 * The audit log has no reference to what it is about, so that it outlives it. Writers take turns at the head, which says where
 * the chain ends: without it nobody would miss the last entries.
 *
 * Of the indexes only one is written by requests that end well: that of keys, and only when they end. Scopes are put in the
 * order of bytes, in which those of one tenant stand together. An id says when its key was first used; of those that were used
 * anew it does not, and there are few.
 */
export const audit: Migration = {
  version: 10,
  name: '0010-audit',
  sql: (schema) => [
    `CREATE TABLE ${schema}.audit (
  sequence bigint PRIMARY KEY CHECK (sequence >= 1),
  at_ms bigint NOT NULL,
  who text NOT NULL,
  action text NOT NULL CHECK (action IN ('settle', 'purge', 'reconcile', 'redrive', 'discard')),
  scope_id text NOT NULL,
  subject text NOT NULL,
  why text NOT NULL CHECK (why <> ''),
  before text NOT NULL,
  after text NOT NULL,
  previous text NOT NULL,
  hash text NOT NULL
)`,
    `CREATE INDEX audit_subject ON ${schema}.audit (subject, sequence)`,
    `CREATE TABLE ${schema}.audit_head (
  one smallint PRIMARY KEY CHECK (one = 1),
  sequence bigint NOT NULL,
  hash text NOT NULL
)`,
    `CREATE INDEX records_key ON ${schema}.records (idempotency_key COLLATE "C", id) WHERE status <> 'in_progress'`,
    `DROP INDEX ${schema}.records_scope`,
    `CREATE INDEX records_scope ON ${schema}.records (scope_id COLLATE "C", id)`,
    `CREATE INDEX records_anew ON ${schema}.records (id) WHERE generation > 1`,
  ],
}
