import { type Listed, listed, type Paged } from '../admin/paging.js'
import { adminBounds } from '../kernel/limits.js'
import { progressBar } from './progress-bar.js'
import { wholeOf } from './usage.js'

/**
 * Pages on until there is as much as was asked for, or no more, or a bound is reached: a page may be empty, and what somebody
 * looks for be on the next one.
 */
export async function filledPage<Query extends Paged, T>(
  list: (query: Query) => Promise<Listed<T>>,
  query: Query,
): Promise<Listed<T>> {
  const size = query.limit ?? adminBounds.page
  const bar = progressBar('looking, page')
  const items: T[] = []
  let { after } = query
  try {
    for (let page = 1; page <= adminBounds.pagesLookedAt; page++) {
      const found = await list({ ...query, limit: size - items.length, ...(after !== undefined && { after }) })
      items.push(...found.items)
      after = found.next
      if (after === undefined || items.length >= size) break
      bar.count(page)
    }
  } finally {
    bar.end()
  }
  return listed(items, after)
}

/** How much of a list somebody wants, and from where. */
export function pagedBy({ limit, after }: { readonly limit?: string; readonly after?: string }): Paged {
  return {
    ...(limit !== undefined && { limit: wholeOf('--limit', limit) }),
    ...(after !== undefined && { after }),
  }
}

/** What a page shows, and how to go on. That there is none is said only where all was looked at. */
export function pageText(
  lines: readonly string[],
  next: string | undefined,
  { none, flag = '--after' }: { readonly none: string; readonly flag?: '--after' | '--effects-after' },
): string {
  const empty = next === undefined ? none : `None was found on the first ${adminBounds.pagesLookedAt} pages.`
  const more = next === undefined ? [] : [`\nThere may be more: ${flag} ${next}`]
  return [...(lines.length === 0 ? [empty] : lines), ...more].join('\n')
}
