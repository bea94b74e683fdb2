/** How to cut the connection of a store, for tests; kept apart, so that no store shows it to its users. */
export const cuts = new WeakMap<object, () => void>()
