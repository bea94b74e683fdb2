import type { Telemetry } from 'hapax/telemetry'

/** The value of one series, by the name that OpenTelemetry knows; `undefined` where there is none. */
export function read(
  watch: Telemetry,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const metric = watch.read().find(({ definition }) => definition.name === `api.idempotency.${name}`)
  if (metric === undefined) throw new Error(`there is no metric ${name}`)
  const wanted = Object.entries(labels)
  const isIt = (one: { readonly labels: Readonly<Record<string, string>> }) =>
    wanted.every(([label, value]) => one.labels[label] === value)
  if (metric.kind === 'histogram') return metric.series().find(isIt)?.count
  return metric.series().find(isIt)?.value
}
