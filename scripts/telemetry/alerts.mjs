/** What people are woken for. Each alert has a page in docs/operating, and shows here when it fires and when it does not. */
import { answered, duplicates, metric, rate, requests } from './queries.mjs'

/**
 * @typedef {import('hapax/telemetry').MetricId} MetricId
 *
 * @typedef {object} Scene
 * @property {string} title
 * @property {Readonly<Record<string, string>>} series what Prometheus has, one value for each minute
 * @property {string} at
 * @property {readonly Readonly<Record<string, string>>[]} fires with these labels; none: it stays silent
 *
 * @typedef {object} Alert
 * @property {string} name
 * @property {string} page of docs/operating
 * @property {Readonly<Record<string, MetricId>>} watches which events it would tell somebody of, and by which metric of its own
 * @property {'critical' | 'warning'} severity `critical` wakes somebody
 * @property {string} expr
 * @property {string} for
 * @property {string} summary
 * @property {string} description
 * @property {readonly Scene[]} scenes
 */

/** What several alerts ask for, worked out once. */
export const recorded = {
  'hapax:requests:rate5m': requests({ over: '5m' }),
  'hapax:duplicate_ratio:rate5m': `${duplicates({ over: '5m' })} / (${requests({ over: '5m' })} > 0)`,
  'hapax:operation_requests:rate10m': requests({ by: 'operation', over: '10m' }),
}

const refusedByStore = { labels: 'code=~"idempotency_store_unavailable|store_.+"', over: '5m' }

const stepsOfNode = { by: 'instance', over: '5m' }

const unprotected = metric('runs', 'ending="unprotected"')

/**
 * Of two days, because what a process tells vanishes with it: a worker that died must be missed, not forgotten. Two, because
 * one that rests for a day would be forgotten before it is late.
 */
const lastPass = (/** @type {string} */ workers) =>
  `time() - max by (worker) (last_over_time(${metric('workerLastPass', workers)}[2d]))`

/** Requests of one operation, with so many of each kind in a minute. */
const traffic = (/** @type {Readonly<Record<string, string>>} */ perMinute = {}) =>
  Object.fromEntries(
    /** @type {const} */ (['created', 'replay', 'inProgress', 'keyMisuse', 'failedRetry', 'unknown']).map((id) => [
      metric(id, `operation="payments.create"${id === 'failedRetry' ? ',by="request"' : ''}`),
      perMinute[id] ?? '0x120',
    ]),
  )

/** @type {readonly Alert[]} */
export const alerts = [
  {
    name: 'HapaxReservationFailures',
    page: 'reservation-failures',
    watches: { reservation_failed: 'refused' },
    severity: 'critical',
    expr: `${rate('refused', refusedByStore)}
  / (${rate('refused', refusedByStore)} + ${requests({ over: '5m' })}) > 0.01`,
    for: '2m',
    summary: 'More than 1 % of guarded requests are refused because the store does not answer.',
    description: 'Nothing of them ran: clients get a 503 and retry. They cannot do their work until the store is back.',
    scenes: [
      {
        title: 'one request in ten is refused',
        series: {
          ...traffic({ created: '0+90x20' }),
          [metric('refused', 'operation="payments.create",code="idempotency_store_unavailable"')]: '0+10x20',
        },
        at: '10m',
        fires: [{}],
      },
      {
        title: 'the store has been down since the node was started',
        series: {
          ...traffic(),
          [metric('refused', 'operation="payments.create",code="idempotency_store_unavailable"')]: '0+10x20',
        },
        at: '10m',
        fires: [{}],
      },
      {
        title: 'one request in ten is refused, while workers go on with many that came before',
        series: {
          ...traffic({ created: '0+90x20' }),
          [metric('failedRetry', 'operation="payments.create",by="worker"')]: '0+9000x20',
          [metric('refused', 'operation="payments.create",code="idempotency_store_unavailable"')]: '0+10x20',
        },
        at: '10m',
        fires: [{}],
      },
      {
        title: 'one in a thousand is, and some are over their quota',
        series: {
          ...traffic({ created: '0+999x20' }),
          [metric('refused', 'operation="payments.create",code="idempotency_store_unavailable"')]: '0+1x20',
          [metric('refused', 'operation="payments.create",code="quota_exceeded"')]: '0+500x20',
        },
        at: '10m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxStoreUnhealthy',
    page: 'store-unhealthy',
    watches: { circuit_opened: 'circuitOpen', store_failed: 'storeError' },
    severity: 'critical',
    // A step that fails now and then is asked for again; more than five of them in five minutes, and one in twenty, are no chance.
    expr: `max by (instance) (${metric('circuitOpen')}) > 0 or min by (instance) (${metric('storeUp')}) < 1
  or (${rate('storeError', stepsOfNode)} > 0.05 * (${rate('storeError', stepsOfNode)} + (${answered('storeDuration', stepsOfNode)} or 0 * ${rate('storeError', stepsOfNode)}))
    and sum by (instance) (increase(${metric('storeError')}[5m])) > 5)`,
    for: '1m',
    summary: 'A node gets no answer from its store, or too often none.',
    description:
      'Its circuit is open, it could not count what the store holds, or more than 5 % of its steps fail. It refuses guarded requests meanwhile.',
    scenes: [
      {
        title: 'the circuit of one node of two is open',
        series: {
          [metric('circuitOpen', 'instance="a"')]: '0 0 1 1 1 1 1 1',
          [metric('circuitOpen', 'instance="b"')]: '0x8',
          [metric('storeUp', 'instance="a"')]: '1x8',
          [metric('storeUp', 'instance="b"')]: '1x8',
        },
        at: '5m',
        fires: [{ instance: 'a' }],
      },
      {
        title: 'a store that does not say what it holds',
        series: {
          [metric('circuitOpen', 'instance="a"')]: '0x8',
          [metric('storeUp', 'instance="a"')]: '1 1 0 0 0 0 0',
        },
        at: '5m',
        fires: [{ instance: 'a' }],
      },
      {
        title: 'one step in ten fails, never so many in a row that the circuit opens',
        series: {
          [metric('circuitOpen', 'instance="a"')]: '0x20',
          [metric('storeError', 'instance="a",step="complete"')]: '0+10x20',
          [metric('storeError', 'instance="a",step="reserve"')]: '0x20',
          [`${metric('storeDuration')}_count{instance="a",step="complete"}`]: '0+40x20',
          [`${metric('storeDuration')}_count{instance="a",step="reserve"}`]: '0+50x20',
        },
        at: '10m',
        fires: [{ instance: 'a' }],
      },
      {
        title: 'one in a hundred does',
        series: {
          [metric('storeError', 'instance="a",step="complete"')]: '0+1x20',
          [`${metric('storeDuration')}_count{instance="a",step="complete"}`]: '0+99x20',
        },
        at: '10m',
        fires: [],
      },
      {
        title: 'both answer',
        series: { [metric('circuitOpen', 'instance="a"')]: '0x8', [metric('storeUp', 'instance="a"')]: '1x8' },
        at: '5m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxRanUnprotected',
    page: 'ran-unprotected',
    watches: { ran_unprotected: 'runs' },
    severity: 'critical',
    // What a node counts for the first time begins at one, which is no increase: one that was not there before counts as well.
    expr: `sum by (operation) (increase(${unprotected}[10m]) > 0 or (${unprotected} > 0 unless max_over_time(${unprotected}[1d] offset 10m))) > 0`,
    for: '0m',
    summary: 'Requests run without protection.',
    description:
      'The store is down, and a policy says `dangerouslyFailOpen`: duplicates run too, and no answer is kept. It falls silent ten minutes after the last.',
    scenes: [
      {
        title: 'one ran, in an hour of thousands',
        series: {
          [metric('runs', 'operation="payments.create",ending="completed",instance="a"')]: '0+1000x60',
          [metric('runs', 'operation="payments.create",ending="unprotected",instance="a"')]: '0x30 1x30',
        },
        at: '33m',
        fires: [{ operation: 'payments.create' }],
      },
      {
        title: 'the store has been down since the node was started',
        series: { [metric('runs', 'operation="payments.create",ending="unprotected",instance="a"')]: '_x30 1x30' },
        at: '31m',
        fires: [{ operation: 'payments.create' }],
      },
      {
        title: 'some ran yesterday, and none since',
        series: {
          [metric('runs', 'operation="payments.create",ending="completed",instance="a"')]: '0+1000x60',
          [metric('runs', 'operation="payments.create",ending="unprotected",instance="a"')]: '7x60',
        },
        at: '30m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxDuplicateSpike',
    page: 'duplicate-spike',
    watches: { replayed: 'replay', met_in_progress: 'inProgress' },
    severity: 'warning',
    expr: `hapax:duplicate_ratio:rate5m > 0.2
  and hapax:duplicate_ratio:rate5m > 3 * (avg_over_time(hapax:duplicate_ratio:rate5m[1h] offset 10m) or vector(0))
  and hapax:requests:rate5m > 0.1`,
    for: '5m',
    summary: 'Far more requests than usual are duplicates.',
    description:
      'A client retries what was answered, or somebody replays requests. Nothing runs twice; find out who it is.',
    scenes: [
      {
        title: 'from one in a hundred to one in two',
        series: traffic({ created: '0+99x60 5940+50x60', replay: '0+1x60 60+50x60' }),
        at: '80m',
        fires: [{}],
      },
      {
        title: 'one in two as ever: these clients always retry',
        series: traffic({ created: '0+50x120', replay: '0+50x120' }),
        at: '110m',
        fires: [],
      },
      {
        title: 'a single retry in a quiet night',
        series: traffic({ created: '0x60 0 1x59', replay: '0x60 0 1x59' }),
        at: '70m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxMismatchSpike',
    page: 'mismatch-spike',
    watches: { mismatched: 'keyMisuse' },
    severity: 'warning',
    expr: `sum by (operation) (increase(${metric('keyMisuse')}[10m])) > 10
  and ${rate('keyMisuse', { by: 'operation', over: '10m' })} > 0.01 * hapax:operation_requests:rate10m`,
    for: '0m',
    summary: 'Keys are used for more than one request.',
    description:
      'A client makes its keys wrongly, or somebody tries what a key of another request gives away. Nothing ran.',
    scenes: [
      {
        title: 'five in a hundred',
        series: traffic({ created: '0+95x20', keyMisuse: '0+5x20' }),
        at: '15m',
        fires: [{ operation: 'payments.create' }],
      },
      { title: 'two in all', series: traffic({ created: '0+1x20', keyMisuse: '0 1 2 2x17' }), at: '15m', fires: [] },
      {
        title: 'some, in very much traffic',
        series: traffic({ created: '0+10000x20', keyMisuse: '0+5x20' }),
        at: '15m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxUnknownTooOld',
    page: 'unknown-too-old',
    watches: { doubted: 'unknownAge', left_to_operator: 'operatorQueue', effect_unresolved: 'operatorQueue' },
    severity: 'critical',
    expr: `max by (of) (${metric('operatorQueue')}) > 0 or max by (of) (${metric('unknownAge')}) > 3600`,
    for: '1m',
    summary: 'An outcome is not known, and nobody finds out by himself.',
    description:
      'It was left to a person, or has been unknown for an hour. Its client is told to wait until it is settled.',
    scenes: [
      {
        title: 'one has been unknown for more than an hour',
        series: {
          [metric('unknownAge', 'of="record"')]: '0+60x90',
          [metric('unknownAge', 'of="effect"')]: '0x90',
          [metric('operatorQueue', 'of="record"')]: '0x90',
        },
        at: '70m',
        fires: [{ of: 'record' }],
      },
      {
        title: 'one was left to a person',
        series: { [metric('operatorQueue', 'of="effect"')]: '0 0 1x8', [metric('unknownAge', 'of="effect"')]: '0x10' },
        at: '5m',
        fires: [{ of: 'effect' }],
      },
      {
        title: 'some are being looked at',
        series: {
          [metric('unknownAge', 'of="record"')]: '0+60x30',
          [metric('operatorQueue', 'of="record"')]: '0x30',
        },
        at: '30m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxDeadLetters',
    page: 'dead-letters',
    watches: { effect_dead: 'deadLetters' },
    severity: 'warning',
    expr: `max(${metric('deadLetters')}) > 0`,
    for: '1m',
    summary: 'Effects have failed for good.',
    description:
      'Something that was promised with an answer has not been done, and is not tried again until a person says so.',
    scenes: [
      { title: 'there is one', series: { [metric('deadLetters', 'instance="a"')]: '0 0 1x8' }, at: '5m', fires: [{}] },
      { title: 'there is none', series: { [metric('deadLetters', 'instance="a"')]: '0x10' }, at: '5m', fires: [] },
    ],
  },
  {
    name: 'HapaxEffectLag',
    page: 'effect-lag',
    watches: { effects_written: 'effectLag' },
    severity: 'warning',
    expr: `max(${metric('effectLag')}) > 300`,
    for: '5m',
    summary: 'Effects have been due for more than five minutes.',
    description: 'Workers are too few, too slow, or stopped: what was promised with answers comes late.',
    scenes: [
      {
        title: 'it grows, for longer than a restart takes',
        series: { [metric('effectLag', 'instance="a"')]: '0+60x20' },
        at: '15m',
        fires: [{}],
      },
      {
        title: 'a burst that is being worked off',
        series: { [metric('effectLag', 'instance="a"')]: '0 60 120 180 240 280 120 0x10' },
        at: '6m',
        fires: [],
      },
    ],
  },
  {
    name: 'HapaxWorkerStopped',
    page: 'worker-stopped',
    watches: { worker_passed: 'workerLastPass' },
    severity: 'critical',
    // What rests for a day is missed after a little more than that, all others after five minutes.
    expr: `${lastPass('worker!="ledger"')} > 300 or ${lastPass('worker="ledger"')} > 93600
  or absent(${metric('workerLastPass', 'worker="sweeper"')})`,
    for: '5m',
    summary: 'A worker has made no pass on any node.',
    description: 'What it does stays undone: stuck keys are not found, doubts not looked at, effects not carried out.',
    scenes: [
      {
        title: 'the reaper stopped on both nodes, the sweeper goes on',
        series: {
          [metric('workerLastPass', 'worker="sweeper",instance="a"')]: '0+60x30',
          [metric('workerLastPass', 'worker="reaper",instance="a"')]: '0+60x5 300x25',
          [metric('workerLastPass', 'worker="reaper",instance="b"')]: '0+60x6 360x24',
        },
        at: '20m',
        fires: [{ worker: 'reaper' }],
      },
      {
        title: 'it stopped on one node, and another goes on',
        series: {
          [metric('workerLastPass', 'worker="sweeper",instance="a"')]: '0+60x5 300x25',
          [metric('workerLastPass', 'worker="sweeper",instance="b"')]: '0+60x30',
        },
        at: '20m',
        fires: [],
      },
      {
        title: 'it has failed each time since it was started',
        series: {
          [metric('workerLastPass', 'worker="sweeper"')]: '0+60x30',
          [metric('workerLastPass', 'worker="resumer"')]: '0x30',
        },
        at: '20m',
        fires: [{ worker: 'resumer' }],
      },
      {
        title: 'the process that carried out effects died, and a sweeper goes on elsewhere',
        series: {
          [metric('workerLastPass', 'worker="sweeper",instance="a"')]: '0+60x30',
          [metric('workerLastPass', 'worker="effects",instance="b"')]: '0+60x5 stale',
        },
        at: '20m',
        fires: [{ worker: 'effects' }],
      },
      {
        title: 'every process died',
        series: {
          [metric('workerLastPass', 'worker="sweeper"')]: '0+60x5 stale',
          [metric('workerLastPass', 'worker="reaper"')]: '0+60x5 stale',
        },
        at: '20m',
        fires: [{ worker: 'sweeper' }, { worker: 'reaper' }],
      },
      {
        title: 'a deploy put another process in the place of one',
        series: {
          [metric('workerLastPass', 'worker="sweeper",instance="a"')]: '0+60x5 stale',
          [metric('workerLastPass', 'worker="sweeper",instance="b"')]: '_x6 360+60x24',
        },
        at: '20m',
        fires: [],
      },
      {
        title: 'the process that compares ledgers died after its comparison of yesterday',
        series: {
          [metric('workerLastPass', 'worker="sweeper"')]: `0+60x${27 * 60}`,
          [metric('workerLastPass', 'worker="ledger"')]: '0x5 stale',
        },
        at: '27h',
        fires: [{ worker: 'ledger' }],
      },
      { title: 'nobody ever started one', series: { up: '1x30' }, at: '20m', fires: [{ worker: 'sweeper' }] },
      {
        title: 'ledgers are compared once a day',
        series: {
          [metric('workerLastPass', 'worker="sweeper"')]: '0+60x30',
          [metric('workerLastPass', 'worker="ledger"')]: `-${24 * 3_600}x30`,
        },
        at: '20m',
        fires: [],
      },
      {
        title: 'ledgers were not compared yesterday',
        series: {
          [metric('workerLastPass', 'worker="sweeper"')]: '0+60x30',
          [metric('workerLastPass', 'worker="ledger"')]: `-${26 * 3_600}x30`,
        },
        at: '20m',
        fires: [{ worker: 'ledger' }],
      },
    ],
  },
  {
    name: 'HapaxWorkerFailing',
    page: 'worker-failing',
    watches: { worker_failed: 'workerFailures' },
    severity: 'warning',
    // The pause after a failure grows to a minute: who fails each time does so a dozen times in a quarter of an hour.
    expr: `sum by (worker, instance) (increase(${metric('workerFailures')}[15m])) > 5`,
    for: '0m',
    summary: 'A worker fails again and again.',
    description:
      'On this node its passes fail, though others may make theirs: what it is there for comes late, or not at all.',
    scenes: [
      {
        title: 'each pass fails on one node, and another goes on',
        series: {
          [metric('workerFailures', 'worker="reconciler",instance="a"')]: '0+1x30',
          [metric('workerFailures', 'worker="reconciler",instance="b"')]: '0x30',
          [metric('workerPasses', 'worker="reconciler",instance="b"')]: '0+10x30',
        },
        at: '20m',
        fires: [{ worker: 'reconciler', instance: 'a' }],
      },
      {
        title: 'one pass in three fails, and those between them go well',
        series: {
          [metric('workerFailures', 'worker="effects",instance="a"')]: '0+10x30',
          [metric('workerPasses', 'worker="effects",instance="a"')]: '0+20x30',
        },
        at: '20m',
        fires: [{ worker: 'effects', instance: 'a' }],
      },
      {
        title: 'the database was started anew',
        series: {
          [metric('workerFailures', 'worker="sweeper",instance="a"')]: '0x10 1 2 3 3x30',
          [metric('workerPasses', 'worker="sweeper",instance="a"')]: '0+10x10 100x3 100+10x30',
        },
        at: '15m',
        fires: [],
      },
    ],
  },
]
