import type { HistogramSeries, Labels, Metric } from './metric.js'
import { prometheusName } from './prometheus-name.js'
import type { Telemetry } from './telemetry.js'

/**
 * A page that Prometheus can scrape, for whoever runs no collector: mount it where your scraper gets at it, and nobody else.
 * What it says has been counted before, so that a scrape asks nothing of the store.
 *
 * @example
 * const page = prometheus(telemetry({ hapax }))
 * app.get('/metrics', () => page())
 */
export function prometheus(telemetry: Pick<Telemetry, 'read'>): (request?: Request) => Response {
  return function metricsPage(request) {
    const method = request?.method ?? 'GET'
    if (method !== 'GET' && method !== 'HEAD')
      return new Response(null, { status: 405, headers: { Allow: 'GET, HEAD' } })
    const headers = { 'Content-Type': contentType, 'Cache-Control': 'no-store' }
    return new Response(method === 'HEAD' ? null : prometheusText(telemetry), { headers })
  }
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** The same as text, for a framework that has no use for a `Response`. */
export function prometheusText(telemetry: Pick<Telemetry, 'read'>): string {
  return telemetry
    .read()
    .map(textOf)
    .filter((text) => text !== '')
    .join('')
}

/** A metric of which nothing is known is left out: Prometheus would take a heading without lines for a mistake. */
function textOf(metric: Metric): string {
  const { kind, definition } = metric
  const name = prometheusName(definition)
  const lines =
    kind === 'histogram'
      ? metric.series().flatMap((series) => histogramLines(name, series, metric.bounds))
      : metric.series().map(({ labels, value }) => lineOf(name, labels, value))
  if (lines.length === 0) return ''
  const help = definition.help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

/** Each bucket counts all that is below its bound, and the last one everything. */
function histogramLines(name: string, series: HistogramSeries, bounds: readonly number[]): readonly string[] {
  const { labels, counts, sum, count } = series
  let below = 0
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0
    return lineOf(`${name}_bucket`, { ...labels, le: numberText(bound) }, below)
  })
  const all = lineOf(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
  return [...buckets, all, lineOf(`${name}_sum`, labels, sum), lineOf(`${name}_count`, labels, count)]
}

function lineOf(name: string, labels: Labels, value: number): string {
  const written = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${written.length === 0 ? '' : `{${written.join(',')}}`} ${numberText(value)}\n`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}
