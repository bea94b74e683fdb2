import type { HistogramSeries, Labels, ValueListener } from './metric.js'

/** What the durations under one set of labels add up to. */
export class Histogram implements HistogramSeries {
  readonly labels: Labels
  readonly counts: number[]
  sum = 0
  count = 0
  readonly #bounds: readonly number[]
  readonly #listeners: ReadonlySet<ValueListener>

  constructor(labels: Labels, bounds: readonly number[], listeners: ReadonlySet<ValueListener>) {
    this.labels = labels
    this.#bounds = bounds
    this.#listeners = listeners
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  record(value: number): void {
    let bucket = 0
    // Most durations are short, and there are few buckets.
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
    this.count++
    for (const listener of this.#listeners) listener(value, this.labels)
  }
}
