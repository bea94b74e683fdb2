/**
 * What a store holds that somebody should know of. Ages are milliseconds by the store's clock, 0 where there is none. Of each
 * kind a bounded number of rows is counted: as many as that means at least as many.
 */
export interface Measured {
  /** Keys on record, tombstones aside. Beyond the bound a store may estimate. */
  readonly keys: number
  /** Those that are `in_progress`, and how long ago the oldest of their runs began. */
  readonly inProgress: Counted
  readonly unknown: CountedDoubts
  /** Where there is an outbox. */
  readonly effects?: MeasuredEffects
}

export interface MeasuredEffects {
  /** Those that are `ready`, due or not. */
  readonly waiting: number
  /** How long the one has waited that could have been carried out first. */
  readonly lagMs: number
  readonly unknown: CountedDoubts
  readonly dead: number
}

export interface Counted {
  readonly count: number
  readonly oldestMs: number
}

/** How long the oldest doubt has lasted, and how many of them only a person looks at. */
export interface CountedDoubts extends Counted {
  readonly leftToOperator: number
}
