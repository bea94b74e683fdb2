import type { Migration } from './migration.js'

/**
 * What may go on, by the end of its retention: there, what nobody goes on with is left to a person. Answers, doubts, and claims
 * that would be in doubt are not in it, so that a request which begins and ends as usual never writes it. The condition is a CASE
 * because of an OR the planner would look for each half in an index of its own.
 */
export const unfinished: Migration = {
  version: 14,
  name: '0014-unfinished',
  sql: (schema) => [
    `CREATE INDEX records_unfinished ON ${schema}.records (expires_at)
  WHERE CASE status WHEN 'in_progress' THEN on_lease_over = 'resume'
    WHEN 'failed_retryable' THEN recovery_point <> 'started' OR is_begun = 1 ELSE false END`,
  ],
}
