/** PromQL, by what the library calls its metrics: a metric that is renamed there cannot be forgotten here. */
import { definitions, prometheusName } from 'hapax/telemetry'

/** @typedef {import('hapax/telemetry').MetricId} MetricId */

/** What a request can come to. They are there together, so that a sum of them is there as soon as one is. */
const requestIds = /** @type {const} */ (['created', 'replay', 'inProgress', 'keyMisuse', 'failedRetry', 'unknown'])
const duplicateIds = /** @type {const} */ (['replay', 'inProgress', 'unknown'])

/**
 * The name of a metric, with what its labels must be.
 *
 * @param {MetricId} id
 * @param {string} [labels]
 */
export function metric(id, labels) {
  return labels === undefined ? prometheusName(definitions[id]) : `${prometheusName(definitions[id])}{${labels}}`
}

/**
 * What came in a second.
 *
 * @param {MetricId} id
 * @param {{ labels?: string | undefined, by?: string | undefined, over: string }} how
 */
export function rate(id, { labels, by, over }) {
  return `sum${by === undefined ? '' : ` by (${by})`} (rate(${metric(id, labels)}[${over}]))`
}

/** @typedef {Parameters<typeof rate>[1]} How */

/**
 * How many durations came in a second.
 *
 * @param {MetricId} id
 * @param {{ by: string, over: string }} how
 */
export function answered(id, { by, over }) {
  return `sum by (${by}) (rate(${metric(id)}_count[${over}]))`
}

/**
 * Those that came. What a worker goes on with came as a request before, and was counted then.
 *
 * @param {How} how
 */
export function requests(how) {
  return `(${requestIds.map((id) => (id === 'failedRetry' ? retries(how) : rate(id, how))).join(' + ')})`
}

/**
 * What failed before and came again.
 *
 * @param {How} how
 */
export function retries(how) {
  return rate('failedRetry', { ...how, labels: [how.labels, 'by!="worker"'].filter(Boolean).join(',') })
}

/** @param {How} how */
export function duplicates(how) {
  return `(${duplicateIds.map((id) => rate(id, how)).join(' + ')})`
}

/**
 * Below what so many of the durations lie.
 *
 * @param {MetricId} id
 * @param {number} part
 * @param {{ labels?: string | undefined, by: string, over: string }} how
 */
export function quantile(id, part, { labels, by, over }) {
  const buckets = `${prometheusName(definitions[id])}_bucket${labels === undefined ? '' : `{${labels}}`}`
  return `histogram_quantile(${part}, sum by (le, ${by}) (rate(${buckets}[${over}])))`
}
