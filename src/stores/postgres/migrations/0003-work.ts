import type { Migration } from './migration.js'

/**
 * What phases and their calls leave behind, and what waits for a worker.
 *
 * A call is found by the downstream key that it carried, and so is what somebody said about it, which may come before the
 * doubt, or when the record is long gone. `is_begun` and `has_effects` are numbers, as in every database of ours: a record
 * with either does not expire by itself. The defaults are constants, so that no row is rewritten; and those that are there
 * have no recovery point but `started` and `finished`, so that none has to be read for its length.
 */
export const work: Migration = {
  version: 3,
  name: '0003-work',
  sql: (schema) => [
    `ALTER TABLE ${schema}.records
  ADD COLUMN is_begun smallint NOT NULL DEFAULT 0,
  ADD COLUMN has_effects smallint NOT NULL DEFAULT 0,
  ADD COLUMN looks bigint NOT NULL DEFAULT 0,
  ADD COLUMN doubted_at timestamptz,
  ADD CONSTRAINT records_recovery_point_check CHECK (char_length(recovery_point) <= 50) NOT VALID`,
    `CREATE INDEX records_resumable ON ${schema}.records (locked_until)
  WHERE status = 'in_progress' AND on_lease_over = 'resume'`,
    `CREATE INDEX records_due ON ${schema}.records (status, reconcile_after)
  WHERE status IN ('unknown', 'failed_retryable') AND reconcile_after IS NOT NULL`,
    `CREATE TABLE ${schema}.calls (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  downstream_key text NOT NULL UNIQUE,
  record_id bigint NOT NULL,
  scope_id text NOT NULL,
  operation text NOT NULL,
  generation bigint NOT NULL,
  phase text NOT NULL,
  state text NOT NULL CHECK (state IN ('begun', 'landed', 'not_landed')),
  begun_at timestamptz NOT NULL,
  ended_at timestamptz
)`,
    `CREATE TABLE ${schema}.testimonies (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  downstream_key text NOT NULL,
  says text NOT NULL CHECK (says IN ('landed', 'not_landed')),
  result bytea,
  said_by text NOT NULL,
  why text NOT NULL,
  said_at timestamptz NOT NULL
)`,
    `CREATE INDEX testimonies_key ON ${schema}.testimonies (downstream_key)`,
  ],
}
