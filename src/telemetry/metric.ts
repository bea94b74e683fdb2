import { telemetryBounds } from '../kernel/limits.js'
import type { MetricDefinition } from './definitions.js'

export type Labels = Readonly<Record<string, string>>

/** A counter or a gauge under one set of labels. Whoever counts holds on to it, so that counting is an addition. */
export interface Series {
  readonly labels: Labels
  value: number
}

/** Durations under one set of labels: how many fell below each bound, and behind the last. */
export interface HistogramSeries {
  readonly labels: Labels
  /** One more than there are bounds; not summed up. */
  readonly counts: readonly number[]
  readonly sum: number
  readonly count: number
}

/** One metric, and all that is known of it. */
export type Metric =
  | {
      readonly kind: 'counter' | 'gauge'
      readonly definition: MetricDefinition
      /** Those that there are now, in the order in which they came. */
      series(): readonly Series[]
    }
  | {
      readonly kind: 'histogram'
      readonly definition: MetricDefinition
      readonly bounds: readonly number[]
      series(): readonly HistogramSeries[]
      /** Is told of each value as it comes: for those who keep histograms of their own. The function returned stops it. */
      onValue(listener: ValueListener): () => void
    }

export type ValueListener = (value: number, labels: Labels) => void

/** The values of a metric by its labels, a bounded number of them: what is beyond shares one that is called `other`. */
export interface Family<S> {
  readonly definition: MetricDefinition
  /** The series with these values, in the order of the metric's labels. It is made when it is first asked for. */
  at(...values: readonly string[]): S
  series(): readonly S[]
  clear(): void
}

export function family<S>(definition: MetricDefinition, make: (labels: Labels) => S): Family<S> {
  const known = new Map<string, S>()
  const labelled = (values: readonly string[]) =>
    Object.fromEntries(definition.labels.map((name, index) => [name, values[index] ?? '']))

  function at(...values: readonly string[]): S {
    const name = nameOf(values)
    const found = known.get(name)
    if (found !== undefined) return found
    const isFull = known.size >= telemetryBounds.series && values.some((value) => value !== other)
    if (isFull) return at(...values.map(() => other))
    const made = make(labelled(values))
    known.set(name, made)
    return made
  }

  return { definition, at, series: () => [...known.values()], clear: () => known.clear() }
}

/** Where names are made up at run time, those that came too late are counted together. */
const other = 'other'

function nameOf(values: readonly string[]): string {
  return values.length === 1 ? (values[0] as string) : values.join('\n')
}
