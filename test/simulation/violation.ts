/** A promise that was broken, in words. */
class Violation extends Error {
  override readonly name = 'Violation'
}

export function demand(isKept: boolean, broken: () => string): asserts isKept {
  if (!isKept) violated(broken())
}

/** For what is asked at every step: whoever asks makes no words before they are needed. */
export function violated(words: string): never {
  throw new Violation(words)
}
