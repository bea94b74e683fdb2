import type { StoredCall } from './call-store.js'

/** Where a page of calls ends: when its last one began, and its id, since many may begin at once. */
export interface CallPlace {
  readonly begunAt: number
  readonly id: number
}

export function afterOf(page: readonly StoredCall[]): string | undefined {
  const last = page.at(-1)
  return last && `${last.begunAt} ${last.id}`
}

export function placeAfter(after: string): CallPlace {
  const [begunAt, id] = after.split(' ').map(Number)
  return { begunAt: begunAt ?? 0, id: id ?? 0 }
}
