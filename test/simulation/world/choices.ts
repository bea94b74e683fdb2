/** Who decides what happens next. `words` are only asked for when somebody reads them. */
export interface Chooser {
  /** One of `count`, the first of which is what usually happens. */
  choose(count: number): number
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
