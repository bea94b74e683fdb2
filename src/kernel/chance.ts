/** Chance as a port, for the same reason as the clock: a simulator must be able to own it. */
export interface Chance {
  /** A number in [0, 1). */
  fraction(): number
  /** An identifier that nobody else has ever made. */
  id(): string
}

export const systemChance: Chance = {
  fraction: () => Math.random(),
  id: () => crypto.randomUUID(),
}
