import type { KeptTestimony } from './call-store.js'
import type { Context } from './context.js'

/**
 * What was said about a key since it was sent, or could be, for the first time: by the store's own clock, as what was said
 * is. What is older is about another call that carried it. That the call was begun anew since, because "not landed" was
 * believed, changes nothing: that it landed is true of whichever of them did.
 */
export async function saidSince<Tx>({ wholeStore }: Context<Tx>, key: string): Promise<readonly KeptTestimony[]> {
  const { calls } = wholeStore
  const testimonies = (await calls?.testimonies([key])) ?? []
  if (testimonies.length === 0) return []
  const begunAt = (await calls?.find(key))?.call.begunAt ?? Number.POSITIVE_INFINITY
  return testimonies.filter(({ at }) => at >= begunAt)
}
