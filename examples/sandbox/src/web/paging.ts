import { invalid } from './fields.js'
import { isId } from './ids.js'

export interface Page<T> {
  readonly items: readonly T[]
  /** What to send as `after` to go on; absent on the last page. */
  readonly next: string | undefined
}

const usual = 50
const most = 200

/** `?limit=…&after=…`: a page of what `read` gives, which is asked for one more than fits, to know whether there is more. */
export async function pageOf<T extends { readonly id: string }>(
  query: unknown,
  read: (limit: number, after: string | undefined) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const { limit = String(usual), after } = query as Readonly<Record<string, unknown>>
  const size = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0
  if (size < 1 || size > most) throw invalid(`limit is a whole number from 1 to ${most}.`)
  if (after !== undefined && !isId(after)) throw invalid('after is the next of the page before.')
  const found = await read(size + 1, after)
  const items = found.slice(0, size)
  return { items, next: found.length > size ? items.at(-1)?.id : undefined }
}
