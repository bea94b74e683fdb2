import type { Counted, CountedDoubts, Measured } from '../engine/measured.js'
import { telemetryBounds } from '../kernel/limits.js'

/** What a store holds that somebody should know of. */
export interface StatsView {
  readonly keys: number
  readonly in_progress: CountView
  readonly unknown: DoubtsView
  /** Where there is an outbox. */
  readonly effects?: {
    readonly waiting: number
    readonly lag_ms: number
    readonly unknown: DoubtsView
    readonly dead: number
  }
  /** So many of each are counted: as many as that means at least as many. */
  readonly counted_to: number
}

interface CountView {
  readonly count: number
  readonly oldest_ms: number
}

interface DoubtsView extends CountView {
  readonly left_to_operator: number
}

export function statsView({ keys, inProgress, unknown, effects }: Measured): StatsView {
  return {
    keys,
    in_progress: countView(inProgress),
    unknown: doubtsView(unknown),
    ...(effects && {
      effects: {
        waiting: effects.waiting,
        lag_ms: effects.lagMs,
        unknown: doubtsView(effects.unknown),
        dead: effects.dead,
      },
    }),
    counted_to: telemetryBounds.countedRows,
  }
}

function countView({ count, oldestMs }: Counted): CountView {
  return { count, oldest_ms: oldestMs }
}

function doubtsView({ leftToOperator, ...counted }: CountedDoubts): DoubtsView {
  return { ...countView(counted), left_to_operator: leftToOperator }
}
