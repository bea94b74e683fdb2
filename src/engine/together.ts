import { limits } from '../kernel/limits.js'

/** A bounded number at once. One that fails does not keep the others from being done; the first error is thrown at the end. */
export async function together<T, R>(
  all: readonly T[],
  work: (one: T) => Promise<R>,
  atOnce: number = limits.itemsAtOnce,
): Promise<readonly R[]> {
  const results: R[] = []
  const errors: unknown[] = []
  const queue = all.values()
  const lane = async () => {
    for (const one of queue)
      await work(one).then(
        (result) => results.push(result),
        (error: unknown) => errors.push(error),
      )
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, lane))
  if (errors.length > 0) throw errors[0]
  return results
}

/**
 * Asks different people at the same time, and each of them one thing first: whoever does not answer that is not asked the
 * rest at once. `whom` says who is asked about one.
 */
export async function askedInTurn<T, R>(
  all: readonly T[],
  whom: (one: T) => string,
  ask: (one: T) => Promise<R>,
): Promise<readonly R[]> {
  const byWhom = new Map<string, T[]>()
  for (const one of all) byWhom.set(whom(one), [...(byWhom.get(whom(one)) ?? []), one])
  const asked = await together(
    [...byWhom.values()],
    async (theirs) => [
      ...(await together(theirs.slice(0, 1), ask)),
      ...(await together(theirs.slice(1), ask, limits.looksAtOnce)),
    ],
    byWhom.size,
  )
  return asked.flat()
}
