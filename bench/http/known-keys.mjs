/** Of keys that were answered before: so many that callers rarely ask for the same one at a time. */
export const knownKeys = 1_000
