/** A promise that was broken, in words. */
class Violation extends Error {
  override readonly name = 'Violation'
}

export function demand(isKept: boolean, broken: () => string): asserts isKept {
  if (!isKept) throw new Violation(broken())
}
