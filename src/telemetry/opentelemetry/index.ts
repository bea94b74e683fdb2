/** `hapax/telemetry/opentelemetry`: what goes to a collector. Needs `@opentelemetry/api`, and an SDK that you set up. */
export { type OpenTelemetryMetricsOptions, openTelemetryMetrics } from './metrics.js'
export { type OpenTelemetryTracingOptions, openTelemetryTracing } from './tracing.js'
