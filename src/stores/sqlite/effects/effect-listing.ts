import { type EffectQuery, effectStates } from '../../../engine/effect-store.js'
import { placeAfter } from '../../../engine/listing.js'
import type { SqlValue } from '../../sql/row.js'
import { scopesWithin } from '../../sql/tenant.js'

/**
 * One page of effects, as one statement: by their ids, or those of a tenant by their scopes, in which it stands in two places.
 * Which table is walked is said and not left to SQLite, which would guess: of the few that are dead or unknown their states,
 * of a tenant otherwise its effects.
 */
export function effectListing(
  columns: string,
  { state, kind, record, tenant, after, limit }: EffectQuery,
): { readonly text: string; readonly values: readonly SqlValue[] } {
  const place = after === undefined ? undefined : placeAfter(tenant === undefined ? 'all' : 'tenant', after)
  const fitting = `${isIn(state)} ${kind === undefined ? '' : 'AND s.kind = ?'} ${record === undefined ? '' : 'AND e.record_id = ?'}`
  const asked = [kind, record].filter((value) => value !== undefined)
  if (tenant === undefined) {
    const text = `SELECT ${columns} FROM hapax_effect_states s JOIN hapax_effects e ON e.id = s.effect_id
      WHERE s.effect_id > ? ${fitting} ORDER BY s.effect_id LIMIT ?`
    return { text, values: [place?.id ?? 0, ...asked, limit] }
  }
  const isFew = state === 'dead' || state === 'unknown'
  const from = isFew
    ? 'hapax_effect_states s CROSS JOIN hapax_effects e ON e.id = s.effect_id'
    : 'hapax_effects e CROSS JOIN hapax_effect_states s ON s.effect_id = e.id'
  const [first, end] = scopesWithin(tenant)
  const stretches = [
    { where: 'e.scope_id = ?', given: [tenant] },
    { where: 'e.scope_id >= ? AND e.scope_id < ?', given: [first, end] },
  ]
  const walks = stretches.map(
    ({ where }) => `SELECT ${columns} FROM ${from} WHERE ${where} AND (e.scope_id, e.id) > (?, ?) ${fitting}`,
  )
  const beyond = [place?.by ?? '', place?.id ?? 0]
  return {
    text: `${walks.join(' UNION ALL ')} ORDER BY scope_id, id LIMIT ?`,
    values: [...stretches.flatMap(({ given }) => [...given, ...beyond, ...asked]), limit],
  }
}

/** As a text of ours and not as a value, or else SQLite cannot know which index holds it. */
function isIn(wanted: EffectQuery['state']): string {
  if (wanted === undefined) return ''
  const known = effectStates.find((state) => state === wanted)
  return known === undefined ? 'AND 0' : `AND s.state = '${known}'`
}
