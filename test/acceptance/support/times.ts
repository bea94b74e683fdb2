/** Some instant that is not the one on the wall, and how far to go from it, in milliseconds. */

export const noon = Date.UTC(2026, 0, 1, 12)
export const seconds = 1_000
export const minutes = 60 * seconds
export const hours = 60 * minutes
export const days = 24 * hours
