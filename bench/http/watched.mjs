/** What can watch the engine of a server that is measured. */
import { Writable } from 'node:stream'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { logEvents, prometheusText, telemetry } from 'hapax/telemetry'
import { openTelemetryMetrics, openTelemetryTracing } from 'hapax/telemetry/opentelemetry'
import { pino } from 'pino'

/** @typedef {'nobody' | 'metrics' | 'OpenTelemetry metrics' | 'OpenTelemetry'} Watcher */

/** Far more often than anybody scrapes, so that it is in every turn. */
const scrapeMs = 1_000

/**
 * Its tracer, where there is one: an engine is given it when it is made. Every span is kept, and handed over to nobody.
 *
 * @param {Watcher} watcher
 */
export function tracingOf(watcher) {
  if (watcher !== 'OpenTelemetry') return undefined
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const exporter = {
    /** @type {import('@opentelemetry/sdk-trace-base').SpanExporter['export']} */
    export: (_, done) => done({ code: 0 }),
    shutdown: async () => undefined,
  }
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] }))
  return openTelemetryTracing()
}

/**
 * Metrics that are read once a second, and a log of what somebody may want to know.
 *
 * @param {Watcher} watcher
 * @param {import('hapax/telemetry').TelemetryHost} hapax
 */
export function watch(watcher, hapax) {
  logEvents(hapax, pino({ level: 'info' }, new Writable({ write: (_, __, done) => done() })))
  const watched = telemetry({ hapax })
  if (watcher === 'metrics') {
    setInterval(() => prometheusText(watched), scrapeMs)
    return
  }
  const reader = new Reader()
  openTelemetryMetrics(watched, { meter: new MeterProvider({ readers: [reader] }).getMeter('hapax') })
  setInterval(() => void reader.collect(), scrapeMs)
}

/** Asks when it is told to. */
class Reader extends MetricReader {
  async onForceFlush() {}
  async onShutdown() {}
}
