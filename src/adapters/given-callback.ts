/** The callback among the arguments of a method of node, which may stand at any place. */
export function callbackIn(given: readonly unknown[]): (() => void) | undefined {
  return given.find((argument): argument is () => void => typeof argument === 'function')
}

/** Calls it back, as node does when something is done. */
export function tell(given: readonly unknown[]): void {
  const done = callbackIn(given)
  if (done !== undefined) queueMicrotask(() => done())
}
