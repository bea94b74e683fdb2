import { limits } from '../kernel/limits.js'
import { copyOfRecord } from './copies.js'
import type { EffectQuery, StoredEffect } from './effect-store.js'
import { ensurePlace, isPlaceText, numberedPlace, placeParts, placeText } from './page-place.js'
import type { StoredRecord } from './record.js'
import type { ListQuery, Page } from './store.js'
import { tenantOf } from './tenant.js'

/**
 * How a list is walked, in the words of the port: which way is taken decides the order of the pages, so that every store
 * takes the same. What the way does not see to by itself, each record on it is asked for.
 */
export type Way = 'name' | 'key' | 'keys' | 'unsettled' | 'leases' | 'scope' | 'tenant' | 'all'

/** The narrowest comes first. */
export function wayOf({ scope, tenant, state, key }: ListQuery): Way {
  if (key !== undefined && 'is' in key) return scope === undefined ? 'key' : 'name'
  if (key !== undefined) return 'keys'
  if (state === 'unknown' || state === 'failed_retryable') return 'unsettled'
  if (state === 'in_progress') return 'leases'
  if (scope !== undefined) return 'scope'
  return tenant === undefined ? 'all' : 'tenant'
}

/** By what the records of a way are ordered, before their ids. */
export function orderOf(way: Way): 'key' | 'lease' | 'scope' | undefined {
  switch (way) {
    case 'keys':
      return 'key'
    case 'leases':
      return 'lease'
    case 'tenant':
      return 'scope'
    default:
      return undefined
  }
}

/**
 * Where a page ends: at the last record that was looked at, whoever's it is. It is told to whoever asked for the page, so that
 * a key is not in it but is looked up by its record.
 */
export interface Place {
  readonly by: string | number | undefined
  readonly id: number
}

export function placeOf(way: Way, record: StoredRecord): Place {
  switch (orderOf(way)) {
    case 'key':
      return { by: undefined, id: record.id }
    case 'lease':
      return { by: record.leaseUntil ?? 0, id: record.id }
    case 'scope':
      return { by: record.scope, id: record.id }
    case undefined:
      return { by: undefined, id: record.id }
  }
}

export function afterOf({ by, id }: Place): string {
  return by === undefined ? String(id) : placeText([by, id])
}

/** The same of an effect, in a list of effects: those of a tenant come by their scopes. */
export function effectPlace({ scope, id }: StoredEffect, { tenant }: Pick<EffectQuery, 'tenant'>): string {
  return afterOf({ by: tenant === undefined ? undefined : scope, id })
}

/** What comes from outside is one that we gave, or it leads nowhere. */
export function placeAfter(way: Way, after: string): Place {
  const order = orderOf(way)
  if (order === undefined || order === 'key') return { by: undefined, id: numberedPlace(after) }
  const [by, id] = placeParts(after)
  ensurePlace(order === 'lease' ? isTime(by) : isPlaceText(by))
  ensurePlace(Number.isSafeInteger(id))
  return { by: by as string | number, id: id as number }
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= limits.latestAt
}

/** Whether a record fits all of what is said. */
function fits(record: StoredRecord, query: ListQuery): boolean {
  const { scope, tenant, state, operation, key, status, resource, since, until } = query
  return (
    (scope === undefined || record.scope === scope) &&
    (tenant === undefined || tenantOf(record.scope) === tenant) &&
    (state === undefined || record.state === state) &&
    (operation === undefined || record.operation === operation) &&
    (key === undefined || ('is' in key ? record.key === key.is : record.key.startsWith(key.startsWith))) &&
    (status === undefined || record.answer?.status === status) &&
    (resource === undefined || resourceOf(record) === resource) &&
    (since === undefined || record.createdAt >= since) &&
    (until === undefined || record.createdAt < until)
  )
}

/** Where the thing is that a request has made, as its answer said. */
export function resourceOf({ answer }: Pick<StoredRecord, 'answer'>): string | undefined {
  return answer?.headers.find(([name]) => name.toLowerCase() === 'location')?.[1]
}

/** A page of what is all at hand. */
export function pageOf(all: Iterable<StoredRecord>, query: ListQuery): Page {
  const way = wayOf(query)
  const turn = query.order === 'newest' ? -1 : 1
  const compare = (a: Place, b: Place) => byPlace(a, b) * turn
  const records = Array.from(all)
  const ordered = (record: StoredRecord): Place =>
    orderOf(way) === 'key' ? { by: record.key, id: record.id } : placeOf(way, record)
  const after = query.after === undefined ? undefined : placeAfter(way, query.after)
  const at = after && orderOf(way) === 'key' ? records.find(({ id }) => id === after.id) : undefined
  const begin = at === undefined ? after : ordered(at)
  // A record that is gone by now has no place any more: what is listed by keys begins anew, and nothing is missed.
  const isGone = begin !== undefined && orderOf(way) === 'key' && at === undefined
  const found = records
    .filter((record) => fits(record, query))
    .map((record) => ({ record, place: ordered(record) }))
    .filter(({ place }) => begin === undefined || isGone || compare(place, begin) > 0)
    .sort((a, b) => compare(a.place, b.place))
  const page = found.slice(0, query.limit)
  const last = found.length > query.limit ? page.at(-1) : undefined
  return {
    records: page.map(({ record }) => copyOfRecord(record)),
    next: last && afterOf(placeOf(way, last.record)),
  }
}

function byPlace(a: Place, b: Place): number {
  if (a.by !== b.by && a.by !== undefined && b.by !== undefined) return a.by < b.by ? -1 : 1
  return a.id - b.id
}
