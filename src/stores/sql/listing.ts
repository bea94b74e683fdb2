import { recordDigest } from '../../engine/digest.js'
import type { IdempotencyKey } from '../../engine/key.js'
import { afterOf, orderOf, type Place, placeAfter, placeOf, type Way, wayOf } from '../../engine/listing.js'
import type { StoredRecord } from '../../engine/record.js'
import { type State, states } from '../../engine/state.js'
import type { ListQuery, Page } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import type { SqlValue } from './row.js'
import { scopesWithin } from './tenant.js'

/** How one SQL database spells what a list is made of. */
export interface Dialect {
  readonly table: string
  readonly select: string
  parameter(n: number): string
  /** A parameter in milliseconds, as the columns of times have it. */
  time(parameter: string): string
  /** A column of text in the order of its bytes, as its index has it. */
  byBytes(column: string): string
  /** Which keys are in their index: those that have left `in_progress` spare every request half of what it costs. */
  readonly keysIndexed: 'all' | 'settled'
  /** Whether the scopes of tombstones have an index of their own: who asks for all of a scope then walks two. */
  readonly scopesIndexed: 'all' | 'apart'
  /** That an answer leads there. No index knows it: every answer would pay for that. */
  resource(parameter: string): string
  /** The first id that was given out at a time or later; where there is none, all are looked at. */
  readonly idAt?: (time: string) => string
}

/** A statement, what it is given, and what its rows mean. */
export interface Listing {
  readonly text: string
  readonly values: readonly SqlValue[]
  page(rows: readonly ListedRow[]): Page
}

export interface ListedRow {
  readonly record: StoredRecord
  /** Which of those that were looked at it is, and whether it fits. */
  readonly n: number
  readonly fits: boolean
}

/**
 * One page of a list, as one statement. It walks an index up to so many records and asks each for the rest. What was walked
 * to no avail is not walked again: the last record that was looked at comes along, as the place where the next page begins.
 */
export function listingOf(query: ListQuery, size: number, dialect: Dialect): Listing {
  const values: SqlValue[] = []
  const give = (value: SqlValue) => dialect.parameter(values.push(value))
  const way = wayOf(query)
  const { by, id } = columnsOf(way, dialect)
  const turn = query.order === 'newest' ? ({ sign: '<', word: 'DESC' } as const) : ({ sign: '>', word: 'ASC' } as const)
  const order = [by, id].flatMap((column) => column ?? []).map((column) => `${column} ${turn.word}`)
  const branches = branchesOf(way, query, give, dialect)
  const filter = filterOf(way, query, give, dialect)
  const beyond =
    query.after === undefined ? [] : [beyondOf(placeAfter(way, query.after), query, by, turn.sign, give, dialect)]
  const most = filter.length === 0 ? size + 1 : limits.looked
  const looked = give(most)
  const walks = branches.map(
    (where) =>
      `SELECT * FROM (SELECT * FROM ${dialect.table} ${all([...where, ...beyond])} ORDER BY ${order.join(', ')} LIMIT ${looked}) w`,
  )
  const walk =
    walks.length === 1
      ? walks[0]
      : `SELECT * FROM (${walks.join(' UNION ALL ')}) u ORDER BY ${order.join(', ')} LIMIT ${looked}`
  const fitting = filter.length === 0 ? '1' : `CASE WHEN ${filter.join(' AND ')} THEN 1 ELSE 0 END`
  // In the order of the walk and not by `n`, which is the same: so it ends as soon as the page is full.
  const placed = [by && `walked_by ${turn.word}`, `${id} ${turn.word}`].flatMap((column) => column ?? [])
  const text = `SELECT ${dialect.select}, n, fits FROM (
    SELECT *, ${by ?? 'NULL'} AS walked_by, row_number() OVER (ORDER BY ${order.join(', ')}) AS n, ${fitting} AS fits
    FROM (${walk}) l) m WHERE fits = 1 OR n = ${looked} ORDER BY ${placed.join(', ')} LIMIT ${give(size + 1)}`
  return { text, values, page: (rows) => pageIn(rows, way, size, most) }
}

/** What is in progress, in two indexes. */
const leases = ['doubt', 'resume'].map((over) => [`status = 'in_progress'`, `on_lease_over = '${over}'`])

/** What is no tombstone, and what is. */
const graves = [`status <> 'expired'`, `status = 'expired'`]

type Give = (value: SqlValue) => string

function columnsOf(way: Way, { byBytes }: Dialect): { readonly by: string | undefined; readonly id: 'id' } {
  switch (orderOf(way)) {
    case 'key':
      return { by: byBytes('idempotency_key'), id: 'id' }
    case 'scope':
      return { by: byBytes('scope_id'), id: 'id' }
    case 'lease':
      return { by: 'locked_until', id: 'id' }
    case undefined:
      return { by: undefined, id: 'id' }
  }
}

/** The stretches of indexes that are walked. What partial indexes are about stands in the text, or else they are not used. */
function branchesOf(way: Way, query: ListQuery, give: Give, dialect: Dialect): readonly (readonly string[])[] {
  const { scope, tenant = '', state, key } = query
  switch (way) {
    case 'name': {
      invariant(scope !== undefined && key !== undefined && 'is' in key, 'a name is a scope and a key')
      return [[`digest = ${give(recordDigest({ scope, key: key.is as IdempotencyKey }))}`]]
    }
    case 'key':
    case 'keys': {
      const where = keyed(query, give, dialect)
      if (dialect.keysIndexed === 'all') return [where]
      return [[`status <> 'in_progress'`, ...where], ...leases.map((lease) => [...lease, ...where])]
    }
    case 'unsettled':
      return [[`status = '${checked(state)}'`]]
    case 'leases':
      return leases
    case 'scope':
      return scoped([`${dialect.byBytes('scope_id')} = ${give(scope ?? '')}`], query, give, dialect)
    case 'tenant': {
      const column = dialect.byBytes('scope_id')
      const [from, to] = scopesWithin(tenant)
      const scopes = [[`${column} = ${give(tenant)}`], [`${column} >= ${give(from)}`, `${column} < ${give(to)}`]]
      return scopes.flatMap((where) => scoped(where, query, give, dialect))
    }
    case 'all':
      return since([], query, give, dialect)
  }
}

function scoped(
  where: readonly string[],
  query: ListQuery,
  give: Give,
  dialect: Dialect,
): readonly (readonly string[])[] {
  if (dialect.scopesIndexed === 'all') return since(where, query, give, dialect)
  return graves.flatMap((grave) => since([grave, ...where], query, give, dialect))
}

function keyed(query: ListQuery, give: Give, { byBytes }: Dialect): readonly string[] {
  const { key } = query
  const column = byBytes('idempotency_key')
  if (key === undefined) return []
  if ('is' in key) return [`${column} = ${give(key.is)}`]
  const [from, to] = keysIn(query)
  return [`${column} >= ${give(from)}`, `${column} < ${give(to)}`]
}

/**
 * Ids are given out in the order of time, so that a time is a stretch of ids. A key that was used anew has its old one:
 * there are few of those, and an index knows them.
 */
function since(
  where: readonly string[],
  query: ListQuery,
  give: Give,
  { idAt, time }: Dialect,
): readonly (readonly string[])[] {
  if (idAt === undefined || (query.since === undefined && query.until === undefined)) return [where]
  const at = (ms: number) => idAt(time(give(ms)))
  const within = [
    ...(query.since === undefined ? [] : [`id >= ${at(query.since - limits.idsApartMs)}`]),
    ...(query.until === undefined ? [] : [`id < ${at(query.until + limits.idsApartMs)}`]),
  ]
  return [
    [...where, ...within],
    [...where, 'generation > 1', `NOT (${within.join(' AND ')})`],
  ]
}

/** What the way does not see to. */
function filterOf(way: Way, query: ListQuery, give: Give, dialect: Dialect): readonly string[] {
  const { scope, tenant, state, operation, key, status, resource } = query
  const filter: string[] = []
  const column = dialect.byBytes('scope_id')
  if (scope !== undefined && way !== 'scope' && way !== 'name') filter.push(`${column} = ${give(scope)}`)
  if (tenant !== undefined && way !== 'tenant') {
    const [from, to] = scopesWithin(tenant)
    filter.push(`(${column} = ${give(tenant)} OR (${column} >= ${give(from)} AND ${column} < ${give(to)}))`)
  }
  if (state !== undefined && way !== 'unsettled' && way !== 'leases') filter.push(`status = '${checked(state)}'`)
  if (operation !== undefined) filter.push(`operation = ${give(operation)}`)
  if (key !== undefined && !['name', 'key', 'keys'].includes(way)) filter.push(...keyed(query, give, dialect))
  if (status !== undefined) filter.push(`response_status_code = ${give(status)}`)
  if (resource !== undefined) filter.push(dialect.resource(give(resource)))
  if (query.since !== undefined) filter.push(`created_at >= ${dialect.time(give(query.since))}`)
  if (query.until !== undefined) filter.push(`created_at < ${dialect.time(give(query.until))}`)
  return filter
}

function beyondOf(
  place: Place,
  query: ListQuery,
  by: string | undefined,
  sign: '<' | '>',
  give: Give,
  { table, time }: Dialect,
): string {
  const id = give(place.id)
  switch (orderOf(wayOf(query))) {
    case undefined:
      return `id ${sign} ${id}`
    case 'lease':
      return `(${by}, id) ${sign} (${time(give(place.by ?? 0))}, ${id})`
    case 'scope':
      return `(${by}, id) ${sign} (${give(place.by ?? '')}, ${id})`
    case 'key': {
      // A record that is gone by now has no place any more: the list begins anew, and nothing is missed.
      const [from, to] = keysIn(query)
      const key = `coalesce((SELECT idempotency_key FROM ${table} WHERE id = ${id}), ${give(sign === '>' ? from : to)})`
      return `(${by}, id) ${sign} (${key}, ${id})`
    }
  }
}

/** Keys are printable, and this character comes behind all that are. */
function keysIn({ key }: ListQuery): readonly [string, string] {
  const prefix = key !== undefined && 'startsWith' in key ? key.startsWith : ''
  return [prefix, `${prefix}\x7f`]
}

function all(conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
}

function checked(state: State | undefined): State {
  invariant(state !== undefined && states.includes(state), 'a state is one of those that there are')
  return state
}

function pageIn(rows: readonly ListedRow[], way: Way, size: number, most: number): Page {
  const fitting = rows.filter(({ fits }) => fits).map(({ record }) => record)
  const records = fitting.slice(0, size)
  const last = rows.at(-1)
  const end = fitting.length > size ? records.at(-1) : last?.n === most ? last.record : undefined
  return { records, next: end && afterOf(placeOf(way, end)) }
}
