import { isNoPlace } from '../engine/page-place.js'
import { adminBounds } from '../kernel/limits.js'
import { Refused } from './refused.js'

/** Lists come in pages. */
export interface Listed<T> {
  readonly items: readonly T[]
  /** The `after` of the next page; absent on the last. */
  readonly next?: string
}

export interface Paged {
  readonly limit?: number
  readonly after?: string
}

export function listed<T>(items: readonly T[], next: string | undefined): Listed<T> {
  return { items, ...(next !== undefined && { next }) }
}

export function sizeOf(limit: number = adminBounds.page): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= adminBounds.largestPage) return limit
  throw new Refused('invalid', `limit is a whole number from 1 to ${adminBounds.largestPage}.`)
}

/** A place that no page of ours has ended at is the caller's mistake. */
export async function refusingPlaces<T>(list: () => Promise<T>): Promise<T> {
  try {
    return await list()
  } catch (error) {
    if (isNoPlace(error)) throw new Refused('invalid', 'after is no next of a page of this query.')
    throw error
  }
}
