/**
 * `hapax/telemetry`: metrics, logs and what a Prometheus scrapes, made from what the engine tells. OpenTelemetry has an entry
 * point of its own, so that nobody needs to have it.
 */
export { definitions, type MetricDefinition, type MetricId } from './definitions.js'
export { type EventLevel, type LogLevel, levels as eventLevels } from './levels.js'
export { type LogEventsOptions, logEvents, type PinoLike, pinoLog } from './logging.js'
export type { HistogramSeries, Labels, Metric, Series, ValueListener } from './metric.js'
export { prometheus, prometheusText } from './prometheus.js'
export { prometheusName } from './prometheus-name.js'
export { type Telemetry, type TelemetryHost, type TelemetryOptions, telemetry } from './telemetry.js'
export type { Rates, RatesByTenant, TenantRates } from './tenant-rates.js'
