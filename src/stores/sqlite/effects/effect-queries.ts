import type { EffectQuery } from '../../../engine/effect-store.js'
import { effectListing } from './effect-listing.js'
import { intentColumns, stateColumns } from './effect-row.js'

/** Every statement on the effects. Conditions repeat those of the partial indexes, or else SQLite ignores these. */

const intent = Object.keys(intentColumns)
const state = Object.keys(stateColumns)

const whole = ['e.id', ...intent.map((name) => `e.${name}`), ...state.map((name) => `s.${name}`)].join(', ')

const both = 'hapax_effect_states s JOIN hapax_effects e ON e.id = s.effect_id'

/** A list of kinds is one value. */
const wanted = 's.kind IN (SELECT value FROM json_each(?))'

export const effectQueries = {
  insertIntent: `INSERT INTO hapax_effects (${intent.join(', ')}) VALUES (${marks(intent)}) RETURNING id`,
  /** The last parameter is the order again: who stands behind another that is not final is not next. */
  insertState: `INSERT INTO hapax_effect_states (effect_id, record_id, kind, ordering, ${state.join(', ')}, is_next)
    VALUES (?, ?, ?, ?, ${marks(state)}, NOT EXISTS (SELECT 1 FROM hapax_effect_states
      WHERE ordering = ? AND ordering IS NOT NULL AND state NOT IN ('done', 'discarded')))`,
  /** In this order one has become final. Only the first is ever carried out, so that whoever waits longest is next. */
  tell: `UPDATE hapax_effect_states SET is_next = 1 WHERE effect_id = (SELECT effect_id FROM hapax_effect_states
    WHERE ordering = ? AND is_next = 0 ORDER BY effect_id LIMIT 1)`,
  update: (names: readonly string[]) =>
    `UPDATE hapax_effect_states SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE effect_id = ?`,
  find: `SELECT ${whole} FROM ${both} WHERE s.effect_id = ?`,
  findByKey: `SELECT ${whole} FROM ${both} WHERE e.downstream_key = ?`,
  /** Two ranges that are merged, each in the order of an index or of the few whose lease is over. */
  claimable: `SELECT ${whole} FROM (
      SELECT s.due_at AS first_due, s.effect_id AS id FROM hapax_effect_states s
        WHERE s.state = 'ready' AND s.due_at <= ? AND ${wanted} AND s.is_next = 1
      UNION ALL SELECT s.due_at, s.effect_id FROM hapax_effect_states s
        WHERE s.state = 'leased' AND s.on_lease_over = 'resume' AND s.leased_until <= ? AND ${wanted} AND s.is_next = 1
      ORDER BY 1, 2 LIMIT ?) AS due
    CROSS JOIN hapax_effect_states s ON s.effect_id = due.id CROSS JOIN hapax_effects e ON e.id = due.id
    ORDER BY due.first_due, due.id`,
  /** The same of these ids, due or not. */
  named: `SELECT ${whole} FROM ${both}
    WHERE s.effect_id IN (SELECT value FROM json_each(?)) AND ${wanted} AND s.is_next = 1
      AND (s.state = 'ready' OR (s.state = 'leased' AND s.on_lease_over = 'resume' AND s.leased_until <= ?))
    ORDER BY s.effect_id LIMIT ?`,
  overdue: `SELECT ${whole} FROM ${both}
    WHERE s.state = 'leased' AND s.on_lease_over = 'doubt' AND s.leased_until <= ?
    ORDER BY s.leased_until LIMIT ?`,
  doubts: `SELECT ${whole} FROM ${both}
    WHERE s.state = 'unknown' AND s.reconcile_after <= ? AND ${wanted}
    ORDER BY s.reconcile_after LIMIT ?`,
  list: (query: EffectQuery) => effectListing(whole, query),
  done: `SELECT ${whole} FROM ${both}
    WHERE s.state IN ('done', 'discarded') AND s.state = 'done' AND s.finished_at >= ?1
      AND (s.finished_at, s.effect_id) > (?1, ?2) ORDER BY s.finished_at, s.effect_id LIMIT ?3`,
  withKeys: `SELECT ${whole} FROM ${both} WHERE e.downstream_key IN (SELECT value FROM json_each(?))`,
  of: 'SELECT id FROM hapax_effects WHERE record_id = ?',
  open: `SELECT effect_id AS id FROM hapax_effect_states WHERE record_id = ? AND state NOT IN ('done', 'discarded') LIMIT 1`,
  final: `SELECT effect_id AS id FROM hapax_effect_states
    WHERE state IN ('done', 'discarded') AND finished_at <= ? ORDER BY finished_at LIMIT ?`,
  removeIntent: 'DELETE FROM hapax_effects WHERE id = ? RETURNING downstream_key',
  removeState: 'DELETE FROM hapax_effect_states WHERE effect_id = ?',
} as const

function marks(names: readonly string[]): string {
  return names.map(() => '?').join(', ')
}
