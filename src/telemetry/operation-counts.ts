import { telemetryBounds } from '../kernel/limits.js'
import type { Histogram } from './histogram.js'
import type { Series } from './metric.js'
import type { Metrics } from './metrics.js'

/** What is counted of one operation. All of it is there from its first request on, at zero: a first step is seen, too. */
export interface OperationCounts {
  readonly created: Series
  readonly replay: Series
  readonly inProgress: Series
  readonly keyMisuse: Series
  readonly failedRetry: Series
  readonly failedRetryByWorker: Series
  readonly unknown: Series
  readonly zombieKey: Series
  readonly runDuration: Histogram
  readonly completed: Series
  readonly failed: Series
  readonly doubted: Series
  readonly unprotected: Series
  /** Counted with other refusals. */
  readonly storeDown: Series
}

/** Finds the counts of an operation by its name: one look into a map for each event. */
export type OperationCountsOf = (operation: string) => OperationCounts

export function operationCounts(metrics: Metrics): OperationCountsOf {
  const known = new Map<string, OperationCounts>()
  return (operation) => {
    const found = known.get(operation)
    if (found !== undefined) return found
    const made = countsOf(metrics, operation)
    // The series are bounded by themselves, and so is what remembers them.
    if (known.size < telemetryBounds.series) known.set(operation, made)
    return made
  }
}

function countsOf(metrics: Metrics, operation: string): OperationCounts {
  return {
    created: metrics.created.at(operation),
    replay: metrics.replay.at(operation),
    inProgress: metrics.inProgress.at(operation),
    keyMisuse: metrics.keyMisuse.at(operation),
    failedRetry: metrics.failedRetry.at(operation, 'request'),
    failedRetryByWorker: metrics.failedRetry.at(operation, 'worker'),
    unknown: metrics.unknown.at(operation),
    zombieKey: metrics.zombieKey.at(operation),
    runDuration: metrics.runDuration.at(operation),
    completed: metrics.runs.at(operation, 'completed'),
    failed: metrics.runs.at(operation, 'failed'),
    doubted: metrics.runs.at(operation, 'doubted'),
    unprotected: metrics.runs.at(operation, 'unprotected'),
    storeDown: metrics.refused.at(operation, 'idempotency_store_unavailable'),
  }
}
