import { telemetryBounds } from '../kernel/limits.js'
import { definitions, type MetricDefinition, type MetricId } from './definitions.js'
import { Histogram } from './histogram.js'
import { type Family, family, type Metric, type Series, type ValueListener } from './metric.js'

/** The metrics of one engine, by what the code calls them, for those who count. */
export type Metrics = { readonly [Id in MetricId]: Counted<(typeof definitions)[Id]['kind']> }

type Counted<Kind> = Family<Kind extends 'histogram' ? Histogram : Series>

export interface MadeMetrics {
  readonly counted: Metrics
  /** The same for those who read. */
  readonly all: readonly Metric[]
}

export function metricsOf(): MadeMetrics {
  const made = Object.entries(definitions).map(([id, definition]) => ({ id, ...metricOf(definition) }))
  return {
    counted: Object.fromEntries(made.map(({ id, counted }) => [id, counted])) as Metrics,
    all: made.map(({ metric }) => metric),
  }
}

function metricOf(definition: MetricDefinition): { readonly counted: Family<unknown>; readonly metric: Metric } {
  const { kind } = definition
  if (kind === 'histogram') return histogramOf(definition)
  const counted = family<Series>(definition, (labels) => ({ labels, value: 0 }))
  return { counted, metric: { kind, definition, series: counted.series } }
}

function histogramOf(definition: MetricDefinition) {
  const bounds = telemetryBounds.durationsSeconds
  const listeners = new Set<ValueListener>()
  const counted = family(definition, (labels) => new Histogram(labels, bounds, listeners))
  const metric: Metric = {
    kind: 'histogram',
    definition,
    bounds,
    series: counted.series,
    onValue(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return { counted, metric }
}
