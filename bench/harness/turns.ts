import type { Asked } from './bench.js'
import { median } from './median.js'
import { rounded } from './table.js'

/** One of those that are compared. */
export interface Contestant<Taken> {
  readonly name: string
  readonly turn: () => Promise<Taken>
}

/** What each took, round by round. */
export type Series<Taken> = ReadonlyMap<string, readonly Taken[]>

/**
 * A shared machine is not as fast now as a second ago. So whatever is compared takes turns, in the other order every second
 * round, and nothing is kept of the first round, which warms everybody up.
 */
export async function takeTurns<Taken>(
  contestants: readonly Contestant<Taken>[],
  { rounds, say, between }: Pick<Asked, 'rounds' | 'say'> & { readonly between?: () => Promise<unknown> },
): Promise<Series<Taken>> {
  const series = new Map<string, Taken[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    say(round === 0 ? 'warming up' : `round ${round} of ${rounds}`)
    await between?.()
    for (const { name, turn } of round % 2 === 0 ? contestants : contestants.toReversed()) {
      const taken = await turn()
      if (round > 0) series.get(name)?.push(taken)
    }
  }
  return series
}

/** What one usually took: of runs on a shared machine some are the neighbours'. */
export function usual<Taken>(series: Series<Taken>, name: string, of: (taken: Taken) => number): number {
  return rounded(median((series.get(name) ?? []).map(of)))
}

/** How one compares with another: each ratio is one of neighbours in a round, and the one in the middle is kept. */
export function ratioOf<Taken>(
  series: Series<Taken>,
  [above, below]: readonly [string, string],
  of: (taken: Taken) => number,
): number {
  const others = series.get(below) ?? []
  return median((series.get(above) ?? []).map((taken, round) => of(taken) / of(others[round] as Taken)))
}
