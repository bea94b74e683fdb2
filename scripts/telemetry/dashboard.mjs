/** A dashboard for Grafana: what comes in, what it costs, what is stuck, and what works on it. */
import { duplicates, metric, quantile, rate, requests, retries } from './queries.mjs'

/**
 * @typedef {object} Panel
 * @property {string} title
 * @property {string} about
 * @property {Readonly<Record<string, string>>} queries by their legend
 * @property {string} [unit] of Grafana
 *
 * @typedef {object} Row
 * @property {string} title
 * @property {readonly Panel[]} panels
 */

/** Grafana puts in what fits its resolution. */
const over = '$__rate_interval'
const labels = 'operation=~"$operation"'
const of = { labels, over }

/** @type {readonly Row[]} */
const rows = [
  {
    title: 'Requests',
    panels: [
      {
        title: 'What requests come to',
        about: 'Every request with a key is one of these. Only what is created or retried has run a handler.',
        unit: 'reqps',
        queries: {
          created: rate('created', of),
          replayed: rate('replay', of),
          'still running': rate('inProgress', of),
          'key of another request': rate('keyMisuse', of),
          'retried after a failure': retries(of),
          'outcome unknown': rate('unknown', of),
        },
      },
      {
        title: 'Part that is duplicates',
        about: 'Clients that retry too early or too often, or somebody who replays. Who it is: `telemetry.tenants()`.',
        unit: 'percentunit',
        queries: {
          'in this range': `${duplicates(of)} / (${requests(of)} > 0)`,
          'as a node sees it': `max by (instance) (${metric('duplicateRatio')})`,
        },
      },
      {
        title: 'By operation',
        about: 'Handlers that started for a new key.',
        unit: 'reqps',
        queries: { '{{operation}}': rate('created', { ...of, by: 'operation' }) },
      },
      {
        title: 'Refused',
        about: 'By error code: quotas, freshness, and a store that does not answer.',
        unit: 'reqps',
        queries: { '{{code}}': rate('refused', { ...of, by: 'code' }) },
      },
    ],
  },
  {
    title: 'Handlers',
    panels: [
      {
        title: 'Duration',
        about: 'From the reservation of a key to its durable answer.',
        unit: 's',
        queries: {
          'p50 {{operation}}': quantile('runDuration', 0.5, { ...of, by: 'operation' }),
          'p99 {{operation}}': quantile('runDuration', 0.99, { ...of, by: 'operation' }),
        },
      },
      {
        title: 'Endings',
        about: 'How handlers ended.',
        unit: 'ops',
        queries: { '{{ending}}': rate('runs', { ...of, by: 'ending' }) },
      },
      {
        title: 'Calls to the outside',
        about: 'Made by `work.call`.',
        unit: 'ops',
        queries: { '{{operation}} {{ending}}': rate('calls', { ...of, by: 'operation, ending' }) },
      },
      {
        title: 'Webhooks',
        about: 'Events of providers, and what became of them.',
        unit: 'ops',
        queries: { '{{provider}} {{ending}}': rate('webhooks', { by: 'provider, ending', over }) },
      },
    ],
  },
  {
    title: 'Store',
    panels: [
      {
        title: 'Duration of a step, p99',
        about: 'What requests wait for.',
        unit: 's',
        queries: { '{{step}}': quantile('storeDuration', 0.99, { by: 'step', over }) },
      },
      {
        title: 'Errors',
        about: 'Steps that failed or were too slow.',
        unit: 'ops',
        queries: { '{{step}}': rate('storeError', { by: 'step', over }) },
      },
      {
        title: 'Health',
        about: 'Up is 1 when the store said what it holds; the circuit is 1 while it is left alone.',
        queries: {
          'up {{instance}}': `min by (instance) (${metric('storeUp')})`,
          'circuit open {{instance}}': `max by (instance) (${metric('circuitOpen')})`,
        },
      },
      {
        title: 'On record',
        about: 'Tombstones aside. Large numbers are estimates.',
        queries: {
          keys: `max(${metric('keysStored')})`,
          'in progress': `max(${metric('inProgressStored')})`,
        },
      },
      {
        title: 'Cleared away',
        about: 'Records past their retention that were buried, and tombstones that were deleted.',
        unit: 'ops',
        queries: { '{{how}}': rate('ttlPruned', { by: 'how', over }) },
      },
    ],
  },
  {
    title: 'Stuck and in doubt',
    panels: [
      {
        title: 'Age of the oldest',
        about: 'A run that does not end, and a doubt that nobody has settled.',
        unit: 's',
        queries: {
          'in progress': `max(${metric('inProgressAge')})`,
          'unknown {{of}}': `max by (of) (${metric('unknownAge')})`,
        },
      },
      {
        title: 'Doubts',
        about: 'Those that there are, and those that only a person looks at.',
        queries: {
          'unknown {{of}}': `max by (of) (${metric('unknownStored')})`,
          'left to a person {{of}}': `max by (of) (${metric('operatorQueue')})`,
        },
      },
      {
        title: 'Reconciling',
        about: 'Doubts that arise and are settled, looks in vain, and what was given up.',
        unit: 'ops',
        queries: {
          'arose {{of}}': rate('reconcileScheduled', { by: 'of', over }),
          'settled {{of}}': rate('reconcileResolved', { by: 'of', over }),
          'looked in vain {{of}}': rate('reconcileFailed', { by: 'of', over }),
          'left to a person {{of}}': rate('leftToOperator', { by: 'of', over }),
        },
      },
      {
        title: 'Claims that nobody renewed',
        about: 'Processes that died or hung while they ran a handler.',
        unit: 'ops',
        queries: { '{{operation}}': rate('zombieKey', { ...of, by: 'operation' }) },
      },
    ],
  },
  {
    title: 'Effects and workers',
    panels: [
      {
        title: 'Effects',
        about: 'Attempts, by how they ended.',
        unit: 'ops',
        queries: { '{{kind}} {{ending}}': rate('effects', { by: 'kind, ending', over }) },
      },
      {
        title: 'Lag',
        about: 'How long the effect has been due that could be carried out first.',
        unit: 's',
        queries: { lag: `max(${metric('effectLag')})` },
      },
      {
        title: 'Waiting and dead',
        about: 'A dead letter is not tried again until a person says so.',
        queries: { waiting: `max(${metric('effectsWaiting')})`, dead: `max(${metric('deadLetters')})` },
      },
      {
        title: 'Since the last pass',
        about:
          'On whichever node a worker made one last, also one that is gone. One that has failed each time is not shown.',
        unit: 's',
        queries: { '{{worker}}': `time() - (max by (worker) (last_over_time(${metric('workerLastPass')}[2d])) > 0)` },
      },
      {
        title: 'Passes',
        about: 'Those that failed are tried again after a pause.',
        unit: 'ops',
        queries: {
          '{{worker}}': rate('workerPasses', { by: 'worker', over }),
          '{{worker}} failed': rate('workerFailures', { by: 'worker', over }),
        },
      },
      {
        title: 'Duration of a pass, p95',
        about: 'What workers take of the store.',
        unit: 's',
        queries: { '{{worker}}': quantile('workerDuration', 0.95, { by: 'worker', over }) },
      },
    ],
  },
]

const width = 12
const height = 8
const datasource = { type: 'prometheus', uid: '$datasource' }

export function dashboard() {
  return {
    title: 'Hapax',
    uid: 'hapax',
    tags: ['hapax', 'idempotency'],
    description: 'Guarded requests, their store, and what works in the background.',
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [datasourceVariable, operationVariable] },
    panels: panels(),
  }
}

const datasourceVariable = { name: 'datasource', label: 'Prometheus', type: 'datasource', query: 'prometheus' }

const operationVariable = {
  name: 'operation',
  label: 'Operation',
  type: 'query',
  datasource,
  query: { query: `label_values(${metric('created')}, operation)`, refId: 'operation' },
  refresh: 2,
  includeAll: true,
  multi: true,
  allValue: '.*',
  current: { selected: true, text: 'All', value: '$__all' },
}

/** Two panels beside each other, below the heading of their row. */
function panels() {
  let y = 0
  let id = 0
  return rows.flatMap(({ title, panels }) => {
    const heading = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y: y++, w: 24, h: 1 },
    }
    const shown = panels.map((panel, index) => {
      const place = { x: (index % 2) * width, y: y + Math.floor(index / 2) * height, w: width, h: height }
      return timeseries(++id, panel, place)
    })
    y += Math.ceil(panels.length / 2) * height
    return [heading, ...shown]
  })
}

/**
 * @param {number} id
 * @param {Panel} panel
 * @param {{ x: number, y: number, w: number, h: number }} gridPos
 */
function timeseries(id, { title, about, queries, unit = 'short' }, gridPos) {
  return {
    id,
    type: 'timeseries',
    title,
    description: about,
    datasource,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + index),
      datasource,
      expr,
      legendFormat,
    })),
  }
}
