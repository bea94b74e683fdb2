/** Every statement on the calls, and on what was said about them. */

const call = 'id, downstream_key, record_id, scope_id, operation, generation, phase, state, begun_at'

export const callQueries = {
  /** A call that begins anew is the same call: it carries the same key, and keeps its place. */
  begin: `INSERT INTO hapax_calls (downstream_key, phase, record_id, scope_id, operation, generation, state, begun_at)
    VALUES (?, ?, ?, ?, ?, ?, 'begun', ?)
    ON CONFLICT (downstream_key) DO UPDATE SET state = 'begun', ended_at = NULL,
      record_id = excluded.record_id, generation = excluded.generation, 
      begun_at = CASE WHEN hapax_calls.record_id = excluded.record_id THEN hapax_calls.begun_at ELSE excluded.begun_at END`,
  end: `UPDATE hapax_calls SET state = ?, ended_at = ? WHERE downstream_key = ?`,
  find: `SELECT ${call} FROM hapax_calls WHERE downstream_key = ?`,
  list: `SELECT ${call} FROM hapax_calls WHERE id > ? ORDER BY id LIMIT ?`,
  testify: `INSERT INTO hapax_testimonies (downstream_key, says, result, said_by, why, said_at) VALUES (?, ?, ?, ?, ?, ?)`,
  testimonies: `SELECT downstream_key, says, result, said_by, why, said_at FROM hapax_testimonies
    WHERE downstream_key IN (SELECT value FROM json_each(?)) ORDER BY id`,
} as const
