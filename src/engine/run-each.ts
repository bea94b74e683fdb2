import { limits } from '../kernel/limits.js'
import type { Engine, RunRequest } from './engine.js'
import type { Accepted, Done } from './plain.js'
import type { Policy } from './policy.js'
import type { Work } from './work.js'

/** One item of many that came in one request, with a key of its own. */
export interface Item {
  readonly key: string
  /** What makes two items the same: any JSON value. */
  readonly input?: unknown
}

/** What became of one item. The others are not concerned by it. */
export type ItemResult<T> = Done<T> | Accepted | { readonly kind: 'failed'; readonly error: unknown }

/**
 * Runs a function once per item, each under its own key: for endpoints that take many at once. A retry of the whole runs
 * only what has not run, and gives the first result for all else. Results stand in the order of the items. A key that
 * occurs twice runs once, and is compared like any retry.
 *
 * @example
 * const results = await runEach(hapax, { scope, policy, items }, async (work, item) => pay(item.input))
 */
export async function runEach<Tx, I extends Item, T>(
  engine: Engine<Tx>,
  { scope, policy, items }: Pick<RunRequest, 'scope' | 'policy'> & { readonly items: readonly I[] },
  handler: (work: Work<Tx>, item: I) => Promise<T>,
): Promise<readonly ItemResult<T>[]> {
  const results: ItemResult<T>[] = []

  async function run(item: I): Promise<ItemResult<T>> {
    const { key, input } = item
    return engine
      .run<T, 'accept'>({ scope, policy: policy as Policy<'accept'>, key, input }, (work) => handler(work, item))
      .catch((error: unknown) => ({ kind: 'failed', error }))
  }

  const waiting = sameKeysTogether(items)
  async function work(): Promise<void> {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift())
      for (const [index, item] of group) results[index] = await run(item)
  }
  await Promise.all(Array.from({ length: Math.min(limits.itemsAtOnce, waiting.length) }, work))
  return results
}

/** Items of one key, with their places, run one after the other: the later ones are retries of the first. */
function sameKeysTogether<I extends Item>(items: readonly I[]): (readonly [number, I])[][] {
  const groups = new Map<string, (readonly [number, I])[]>()
  for (const [index, item] of items.entries()) {
    const group = groups.get(item.key) ?? []
    group.push([index, item])
    groups.set(item.key, group)
  }
  return [...groups.values()]
}
