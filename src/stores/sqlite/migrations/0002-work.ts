import type { Migration } from './migration.js'

/**
 * What phases, their calls and their effects leave behind, what waits for a worker, and the events of providers. See the
 * migrations 3 to 5 of PostgreSQL, which say why. SQLite uses a partial index only where a query repeats its condition, so
 * that each state has an index of its own here.
 */
export const work: Migration = {
  version: 2,
  name: '0002-work',
  sql: `
ALTER TABLE hapax_records ADD COLUMN is_begun INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hapax_records ADD COLUMN has_effects INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hapax_records ADD COLUMN looks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hapax_records ADD COLUMN doubted_at INTEGER;

CREATE INDEX hapax_records_resumable ON hapax_records (locked_until)
  WHERE status = 'in_progress' AND on_lease_over = 'resume';

CREATE INDEX hapax_records_doubts ON hapax_records (reconcile_after)
  WHERE status = 'unknown' AND reconcile_after IS NOT NULL;

CREATE INDEX hapax_records_failed ON hapax_records (reconcile_after)
  WHERE status = 'failed_retryable' AND reconcile_after IS NOT NULL;

CREATE TABLE hapax_calls (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  downstream_key TEXT NOT NULL UNIQUE,
  record_id INTEGER NOT NULL,
  scope_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  generation INTEGER NOT NULL,
  phase TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('begun', 'landed', 'not_landed')),
  begun_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE TABLE hapax_testimonies (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  downstream_key TEXT NOT NULL,
  says TEXT NOT NULL CHECK (says IN ('landed', 'not_landed')),
  result BLOB,
  said_by TEXT NOT NULL,
  why TEXT NOT NULL,
  said_at INTEGER NOT NULL
) STRICT;

CREATE INDEX hapax_testimonies_key ON hapax_testimonies (downstream_key);

CREATE TABLE hapax_effects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  record_id INTEGER NOT NULL,
  scope_id TEXT NOT NULL,
  operation TEXT NOT NULL,
  generation INTEGER NOT NULL,
  phase TEXT NOT NULL,
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  kind TEXT NOT NULL,
  payload BLOB NOT NULL,
  downstream_key TEXT NOT NULL UNIQUE,
  ordering TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (record_id, generation, phase, sequence)
) STRICT;

CREATE TABLE hapax_effect_states (
  effect_id INTEGER PRIMARY KEY,
  record_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  ordering TEXT,
  state TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'done', 'unknown', 'dead', 'discarded')),
  due_at INTEGER NOT NULL,
  fence INTEGER NOT NULL DEFAULT 0,
  leased_until INTEGER,
  on_lease_over TEXT NOT NULL DEFAULT 'resume' CHECK (on_lease_over IN ('resume', 'doubt')),
  started INTEGER NOT NULL DEFAULT 0,
  finished INTEGER NOT NULL DEFAULT 0,
  first_started_at INTEGER,
  provider_id TEXT,
  result BLOB,
  last_error_code TEXT,
  doubted_at INTEGER,
  looks INTEGER NOT NULL DEFAULT 0,
  reconcile_after INTEGER,
  finished_at INTEGER,
  CHECK ((state = 'leased') = (leased_until IS NOT NULL))
) STRICT;

CREATE INDEX hapax_effect_states_ready ON hapax_effect_states (due_at, effect_id) WHERE state = 'ready';
CREATE INDEX hapax_effect_states_leased ON hapax_effect_states (leased_until) WHERE state = 'leased';
CREATE INDEX hapax_effect_states_doubts ON hapax_effect_states (reconcile_after) WHERE state = 'unknown';
CREATE INDEX hapax_effect_states_open ON hapax_effect_states (record_id) WHERE state NOT IN ('done', 'discarded');
CREATE INDEX hapax_effect_states_order ON hapax_effect_states (ordering, effect_id)
  WHERE ordering IS NOT NULL AND state NOT IN ('done', 'discarded');
CREATE INDEX hapax_effect_states_unknown ON hapax_effect_states (effect_id) WHERE state = 'unknown';
CREATE INDEX hapax_effect_states_dead ON hapax_effect_states (effect_id) WHERE state = 'dead';
CREATE INDEX hapax_effect_states_final ON hapax_effect_states (finished_at) WHERE state IN ('done', 'discarded');

CREATE TABLE hapax_webhook_events (
  provider TEXT NOT NULL,
  event_id TEXT NOT NULL,
  processed_at INTEGER NOT NULL,
  PRIMARY KEY (provider, event_id)
) STRICT;
CREATE INDEX hapax_webhook_events_processed ON hapax_webhook_events (processed_at);
`,
}
