import type { MetricDefinition } from './definitions.js'

/**
 * What Prometheus calls a metric, by the rules by which collectors of OpenTelemetry name it, too: the dashboard and the alerts
 * fit both. Its unit stands at the end, and `_total` behind what only rises.
 */
export function prometheusName({ name, kind, unit }: Pick<MetricDefinition, 'name' | 'kind' | 'unit'>): string {
  const parts = [name.replaceAll('.', '_')]
  if (unit === 's') parts.push('seconds')
  if (unit === '1' && !name.endsWith('.ratio')) parts.push('ratio')
  if (kind === 'counter') parts.push('total')
  return parts.join('_')
}
