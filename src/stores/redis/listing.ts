import type { Way } from '../../engine/listing.js'
import { ensurePlace } from '../../engine/page-place.js'
import type { ListQuery, Page } from '../../engine/store.js'
import { tenantOf } from '../../engine/tenant.js'
import { limits, redisBounds } from '../../kernel/limits.js'
import type { Connection, Given } from './connection.js'
import { recordOf } from './record-fields.js'
import { listOf, numberOf, type Reply, textOf } from './reply.js'
import { list } from './scripts/list.js'

/** A page of records, walked in stretches, so that Redis answers others between two of them. `query.limit` is in its bounds. */
export async function listOn(
  connection: Connection,
  root: string,
  way: Exclude<Way, 'name'>,
  query: ListQuery,
): Promise<Page> {
  const { limit, order = 'oldest', after } = query
  const stretch = stretchOf(way, query)
  const fitting: { readonly place: string; readonly record: Reply }[] = []
  const last = after === undefined ? undefined : placeIn(after)
  let from = way === 'keys' ? undefined : last
  let behind = way === 'keys' ? last : undefined
  const endsAt = (place: string | undefined) => (way === 'keys' ? place?.slice(-nameLength) : place)
  let looked = 0
  while (looked < limits.looked) {
    const look = Math.min(redisBounds.stretch, limits.looked - looked)
    const bounds = from === undefined ? {} : order === 'newest' ? { max: `(${from}` } : { min: `(${from}` }
    const given = { ...filtersOf(query), ...stretch, ...bounds, behind, order, look, limit: limit + 1 - fitting.length }
    const [count, end, found] = listOf(await connection.run(list, [root], given))
    const pairs = listOf(found)
    for (let index = 0; index < pairs.length; index += 2)
      fitting.push({ place: textOf(pairs[index]), record: pairs[index + 1] as Reply })
    if (fitting.length > limit) return pageOf(fitting.slice(0, limit), endsAt(fitting[limit - 1]?.place))
    if (numberOf(count) < look) return pageOf(fitting, undefined)
    looked += look
    from = textOf(end)
    behind = undefined
  }
  return pageOf(fitting, endsAt(from))
}

/** What every place of an index ends with: the number of a record, and its digest. Where a page of keys ends is told by it alone. */
const nameLength = 16 + 32

/** One of a record that is gone, or that never was, is a place all the same: a list of keys begins anew there. */
function placeIn(after: string): string {
  ensurePlace(/^[\w-]+$/.test(after))
  return Buffer.from(after, 'base64url').toString()
}

function pageOf(fitting: readonly { readonly record: Reply }[], end: string | undefined): Page {
  const next = end === undefined ? undefined : Buffer.from(end).toString('base64url')
  return { records: fitting.map(({ record }) => recordOf(record)), next }
}

/** Which index is walked, from where to where. Its members begin with what they are ordered by. */
function stretchOf(way: Exclude<Way, 'name'>, { scope, tenant, state, key }: ListQuery): Given {
  const whole = { min: '-', max: '+' }
  switch (way) {
    case 'key':
      return { index: 'keys', ...line(key !== undefined && 'is' in key ? key.is : '') }
    case 'keys': {
      const start = key !== undefined && 'startsWith' in key ? key.startsWith : ''
      return { index: 'keys', min: `[${start}`, max: `[${start}\u{7f}` }
    }
    case 'unsettled':
      return { index: state, ...whole }
    case 'leases':
      return { index: 'leases', ...whole }
    case 'scope':
      return { index: `tenant:${scope === undefined ? '' : tenantOf(scope)}`, ...line(scope ?? '') }
    case 'tenant':
      return { index: `tenant:${tenant}`, ...whole }
    case 'all':
      return { index: 'all', ...whole }
  }
}

/** What begins with this text and a line break. */
function line(text: string): Given {
  return { min: `[${text}\n`, max: `(${text}\v` }
}

/** What each record on the way is asked for. */
function filtersOf({ scope, tenant, state, operation, key, status, resource, since, until }: ListQuery): Given {
  return {
    scope,
    tenant,
    state,
    operation,
    keyIs: key !== undefined && 'is' in key ? key.is : undefined,
    keyStarts: key !== undefined && 'startsWith' in key ? key.startsWith : undefined,
    status,
    resource,
    since,
    until,
  }
}
