import { type BatchObservableResult, type Meter, metrics, type Observable } from '@opentelemetry/api'
import type { Metric } from '../metric.js'
import type { Telemetry } from '../telemetry.js'

export interface OpenTelemetryMetricsOptions {
  /** Default: the meter `hapax` of the global provider. */
  readonly meter?: Meter
}

type Read = Extract<Metric, { readonly kind: 'counter' | 'gauge' }>

/**
 * Hands the metrics over to OpenTelemetry. Counters and gauges are read when the SDK collects, so that counting costs no more
 * than without it; durations are told as they come. The function returned stops it.
 *
 * @example
 * const stop = openTelemetryMetrics(telemetry({ hapax }))
 */
export function openTelemetryMetrics(
  telemetry: Pick<Telemetry, 'read'>,
  { meter = metrics.getMeter('hapax') }: OpenTelemetryMetricsOptions = {},
): () => void {
  const read = new Map<Observable, Read>()
  const deaf: (() => void)[] = []
  for (const metric of telemetry.read()) {
    if (metric.kind !== 'histogram') {
      read.set(observable(meter, metric), metric)
      continue
    }
    const { name, help: description, unit } = metric.definition
    const advice = { explicitBucketBoundaries: [...metric.bounds] }
    const histogram = meter.createHistogram(name, { description, unit, advice })
    deaf.push(metric.onValue((value, labels) => histogram.record(value, labels)))
  }

  function observe(result: BatchObservableResult): void {
    // What is worked out when it is read.
    telemetry.read()
    for (const [observable, metric] of read)
      for (const { labels, value } of metric.series()) result.observe(observable, value, labels)
  }

  const observables = [...read.keys()]
  meter.addBatchObservableCallback(observe, observables)
  return () => {
    meter.removeBatchObservableCallback(observe, observables)
    for (const stop of deaf) stop()
  }
}

function observable(meter: Meter, { kind, definition }: Read): Observable {
  const { name, help: description, unit } = definition
  const about = { description, unit }
  return kind === 'counter' ? meter.createObservableCounter(name, about) : meter.createObservableGauge(name, about)
}
