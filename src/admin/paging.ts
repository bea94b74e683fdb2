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
