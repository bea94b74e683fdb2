/**
 * Who decides what happens next. A schedule is the list of what was chosen, so that whoever has the list can run it again.
 * The first of the ways in which something may end is always the usual one.
 */
export interface Chooser {
  /** Picks by words from all that may happen, and all ways in which it may; -1: none of it is asked for. */
  which?(all: readonly string[]): number
  /** Which of `count` things happens next. */
  what(count: number): number
  /** In which of `count` ways it happens. */
  how(count: number): number
}

/** A seeded source of numbers in [0, 1): the same seed gives the same schedule on every machine. */
export function seeded(seed: number): () => number {
  // SplitMix32: small, quick, and good enough to pick from a handful.
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32
  }
}

/** By chance: everything may happen next, and one in `1 / faultRate` goes wrong. */
export function byChance(fraction: () => number, faultRate: number): Chooser {
  return {
    what: (count) => Math.floor(fraction() * count),
    how: (count) => (count === 1 || fraction() >= faultRate ? 0 : 1 + Math.floor(fraction() * (count - 1))),
  }
}

/** What was chosen, and of how many: kept, so that a schedule can be run again, varied or shortened. */
export interface Choice {
  readonly taken: number
  readonly of: number
}

/** Follows a list as far as it goes, then another chooser; whatever is chosen is written down. */
export function following(list: readonly number[], otherwise: Chooser, kept: Choice[]): Chooser {
  const next = (count: number, choose: (count: number) => number) => {
    const listed = list[kept.length]
    const taken = listed === undefined ? choose(count) : Math.min(listed, count - 1)
    kept.push({ taken, of: count })
    return taken
  }
  return { what: (count) => next(count, otherwise.what), how: (count) => next(count, otherwise.how) }
}

/**
 * What is on a list, by its words, in the order of that list: of all that may happen what stands there first. So a list still
 * holds where there is less to choose from. What is not on it happens last, as usual.
 */
export function recalling(list: readonly string[]): Chooser {
  const left = [...list]
  return {
    ...usual,
    which(all) {
      const place = left.findIndex((words) => all.includes(words))
      const [words] = place < 0 ? [] : left.splice(place, 1)
      return words === undefined ? -1 : all.indexOf(words)
    },
  }
}

/** What usually happens, in the order in which it was asked for. */
export const usual: Chooser = { what: () => 0, how: () => 0 }
