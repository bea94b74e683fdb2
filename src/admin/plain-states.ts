import { ensurePlace, placeParts, placeText } from '../engine/page-place.js'
import type { State } from '../engine/state.js'
import type { ListQuery, Page } from '../engine/store.js'

/** What a status page would say. What nobody knows is not failed: it is still being found out. */
export type PlainState = 'processing' | 'completed' | 'failed'

/**
 * Which states each of the three words stands for. An expired record is none of them, and has no plain state: where these words
 * come from it would have been deleted, and its key would be new.
 */
const statesOf: Readonly<Record<PlainState, readonly State[]>> = {
  processing: ['in_progress', 'unknown'],
  completed: ['completed'],
  failed: ['failed_retryable'],
}

export const plainStates = Object.keys(statesOf) as readonly PlainState[]

export function plainStateOf(state: State): PlainState | undefined {
  return plainStates.find((plain) => statesOf[plain].includes(state))
}

/**
 * A page of what a plain state stands for: of its states one after the other, each in its own order and along its own index. A
 * page ends where a state does.
 */
export async function plainPage(
  list: (query: ListQuery) => Promise<Page>,
  plain: PlainState,
  { after, ...query }: ListQuery,
): Promise<Page> {
  const states = statesOf[plain]
  const [at, place] = after === undefined ? [0, undefined] : placeIn(after, states)
  const { records, next } = await list({
    ...query,
    state: states[at] as State,
    ...(place !== undefined && { after: place }),
  })
  if (next !== undefined) return { records, next: placeText([at, next]) }
  return { records, next: at + 1 < states.length ? placeText([at + 1]) : undefined }
}

function placeIn(after: string, states: readonly State[]): readonly [number, string | undefined] {
  const [at, place] = placeParts(after)
  ensurePlace(typeof at === 'number' && states[at] !== undefined)
  ensurePlace(place === undefined || typeof place === 'string')
  return [at, place]
}
