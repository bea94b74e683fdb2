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
  list: `SELECT ${call} FROM hapax_calls WHERE begun_at >= ?1 AND (begun_at, id) > (?1, ?2) AND begun_at < ?3
    ORDER BY begun_at, id LIMIT ?4`,
  listOf: `SELECT ${call} FROM hapax_calls WHERE record_id = ?5 AND begun_at >= ?1 AND (begun_at, id) > (?1, ?2)
    AND begun_at < ?3 ORDER BY begun_at, id LIMIT ?4`,
  named: `SELECT ${call} FROM hapax_calls WHERE downstream_key IN (SELECT value FROM json_each(?))`,
  removeOf: 'DELETE FROM hapax_calls WHERE record_id = ? RETURNING downstream_key',
  testify: `INSERT INTO hapax_testimonies (downstream_key, says, result, said_by, why, said_at) VALUES (?, ?, ?, ?, ?, ?)`,
  testimonies: `SELECT downstream_key, says, result, said_by, why, said_at FROM hapax_testimonies
    WHERE downstream_key IN (SELECT value FROM json_each(?)) ORDER BY id`,
  removeTestimonies: 'DELETE FROM hapax_testimonies WHERE downstream_key IN (SELECT value FROM json_each(?))',
  /** The oldest that nobody has looked at, and whether what they are about is here. */
  oldTestimonies: `SELECT id, EXISTS (SELECT 1 FROM hapax_calls c WHERE c.downstream_key = t.downstream_key)
      OR EXISTS (SELECT 1 FROM hapax_effects e WHERE e.downstream_key = t.downstream_key) AS known
    FROM hapax_testimonies t WHERE is_known = 0 AND said_at <= ? ORDER BY said_at LIMIT ?`,
  passTestimony: 'UPDATE hapax_testimonies SET is_known = 1 WHERE id = ?',
  removeTestimony: 'DELETE FROM hapax_testimonies WHERE id = ?',
} as const
