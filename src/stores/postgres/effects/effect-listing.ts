import { type EffectPage, type EffectQuery, type EffectState, effectStates } from '../../../engine/effect-store.js'
import { effectPlace, placeAfter } from '../../../engine/listing.js'
import { invariant } from '../../../kernel/errors.js'
import { limits } from '../../../kernel/limits.js'
import type { SqlValue } from '../../sql/row.js'
import { scopesWithin } from '../../sql/tenant.js'
import type { Query, Row } from '../connections.js'
import { effectColumns, effectGives, effectOf } from './effect-row.js'

/** A statement, what it is given, and what its rows mean. */
export interface EffectListing extends Query {
  readonly values: readonly SqlValue[]
  page(rows: readonly Row[]): EffectPage
}

/**
 * One page of effects, as one statement. It walks an index up to a bound, and asks each on the way for the rest: one that was
 * looked at last comes along, as the place where the next page begins. What a tenant has is found without looking at what
 * others have. The state is part of the text, so that an index of some states can be used.
 */
export function effectListing(schema: string, query: Omit<EffectQuery, 'limit'>, size: number): EffectListing {
  const values: SqlValue[] = []
  const give = (value: SqlValue) => `$${values.push(value)}`
  const filter = filterOf(query, give)
  const most = filter.length === 0 ? size + 1 : limits.looked
  const looked = give(most)
  const order = query.tenant === undefined ? 'effect_id' : `${byBytes('scope_id')}, effect_id`
  const walks = branchesOf(schema, query, give).map(
    ({ from, where, by }) =>
      `SELECT * FROM (SELECT s.* FROM ${from} WHERE ${where.join(' AND ')} ORDER BY ${by} LIMIT ${looked}) w`,
  )
  const fits = filter.length === 0 ? '1' : `CASE WHEN ${filter.join(' AND ')} THEN 1 ELSE 0 END`
  const text = `SELECT ${effectColumns}, s.n, s.fits FROM (SELECT * FROM (
      SELECT *, row_number() OVER (ORDER BY ${order}) AS n, ${fits} AS fits FROM (
        SELECT * FROM (${walks.join(' UNION ALL ')}) u ORDER BY ${order} LIMIT ${looked}) s) l
      WHERE fits = 1 OR n = ${looked} ORDER BY ${order} LIMIT ${give(size + 1)}) s
    JOIN ${schema}.effects e ON e.id = s.effect_id ORDER BY s.n`
  return {
    text,
    gives: [...effectGives, 'n', 'fits'],
    plan: 'fresh',
    values,
    page: (rows) => pageIn(rows, query, size, most),
  }
}

type Give = (value: SqlValue) => string

/** The states that an index knows. */
const listed: readonly EffectState[] = ['unknown', 'dead']

/** A stretch of an index, and the order in which it is walked. */
interface Branch {
  readonly from: string
  readonly where: readonly string[]
  readonly by: string
}

function branchesOf(schema: string, query: Omit<EffectQuery, 'limit'>, give: Give): readonly Branch[] {
  const { state, record, tenant, after } = query
  const place = after === undefined ? undefined : placeAfter(tenant === undefined ? 'all' : 'tenant', after)
  const states = `${schema}.effect_states s`
  const both = `${schema}.effects e JOIN ${states} ON s.effect_id = e.id`
  const ofState = isListed(state) ? [`s.state = '${checked(state)}'`] : []
  if (tenant === undefined) {
    const beyond = `s.effect_id > ${give(place?.id ?? 0)}::bigint`
    const [from, ofRecord] = record === undefined ? [states, []] : [both, [`e.record_id = ${give(record)}`]]
    return [{ from, where: [beyond, ...ofState, ...ofRecord], by: 's.effect_id' }]
  }
  // The scopes of a tenant stand in two places, in the order of their bytes.
  const [from, id] = isListed(state) ? [states, 's.effect_id'] : [both, 'e.id']
  const scope = byBytes(isListed(state) ? 's.scope_id' : 'e.scope_id')
  const beyond = place === undefined ? [] : [`(${scope}, ${id}) > (${give(place.by ?? '')}, ${give(place.id)}::bigint)`]
  const [first, end] = scopesWithin(tenant)
  const stretches = [[`${scope} = ${give(tenant)}`], [`${scope} >= ${give(first)}`, `${scope} < ${give(end)}`]]
  return stretches.map((stretch) => ({ from, where: [...ofState, ...stretch, ...beyond], by: `${scope}, ${id}` }))
}

/** What the walk does not see to. */
function filterOf({ state, kind }: Pick<EffectQuery, 'state' | 'kind'>, give: Give): readonly string[] {
  return [
    ...(state === undefined || isListed(state) ? [] : [`s.state = '${checked(state)}'`]),
    ...(kind === undefined ? [] : [`s.kind = ${give(kind)}`]),
  ]
}

/** Goes on behind the last that is shown, or behind the last that was looked at. */
function pageIn(rows: readonly Row[], query: Pick<EffectQuery, 'tenant'>, size: number, most: number): EffectPage {
  const fitting = rows.filter(({ fits }) => Number(fits) === 1).map(effectOf)
  const effects = fitting.slice(0, size)
  const last = rows.at(-1)
  const end = fitting.length > size ? effects.at(-1) : last && Number(last.n) === most ? effectOf(last) : undefined
  return { effects, next: end && effectPlace(end, query) }
}

function isListed(state: EffectState | undefined): boolean {
  return state !== undefined && listed.includes(state)
}

function byBytes(column: string): string {
  return `${column} COLLATE "C"`
}

function checked(state: EffectState | undefined): EffectState {
  invariant(state !== undefined && effectStates.includes(state), 'a state is one of those that there are')
  return state
}
