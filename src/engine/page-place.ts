/** Where a page goes on, as text. What no page of ours has ended at is whoever's mistake who sent it. */

const promise = 'A page goes on where the one before it ended'

/** By its words, since it may come from another thread. */
export function isNoPlace(error: unknown): boolean {
  return error instanceof Error && error.message.includes(promise)
}

export function ensurePlace(holds: unknown): asserts holds {
  if (!holds) throw new RangeError(`${promise}: give the next of that page, and the same query.`)
}

/** A place that is the number of whatever came last. */
export function numberedPlace(after: string): number {
  ensurePlace(/^\d{1,15}$/.test(after))
  return Number(after)
}

/** A place that is more than a number. */
export function placeText(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url')
}

export function placeParts(after: string): readonly unknown[] {
  const parts = parsed(Buffer.from(after, 'base64url').toString())
  ensurePlace(Array.isArray(parts))
  return parts
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A database may refuse a text that holds this, and none of ours does. */
export function isPlaceText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}
