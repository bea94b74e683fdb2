import type { Migration } from './migration.js'

/** What comes to a person at its retention. See the migration 14 of PostgreSQL, which says why. */
export const unfinished: Migration = {
  version: 8,
  name: '0008-unfinished',
  sql: `
CREATE INDEX hapax_records_unfinished ON hapax_records (expires_at)
  WHERE CASE status WHEN 'in_progress' THEN on_lease_over = 'resume'
    WHEN 'failed_retryable' THEN recovery_point <> 'started' OR is_begun = 1 ELSE 0 END;
`,
}
