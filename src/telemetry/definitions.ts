/**
 * Every metric that there is. The names of the counters of requests are published; the others follow them. Exporters, the
 * dashboard and the alerts are made from this list and nothing else.
 *
 * No label holds a key, a tenant or anything else that callers choose: `operation` is the name of a policy, and what else
 * there is comes from closed lists or from the application's own code.
 */
export interface MetricDefinition {
  /** As OpenTelemetry has it; Prometheus is told the same with underscores, its unit, and `_total` where it only rises. */
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** `s` for seconds, `1` for a ratio, a word in braces for what is counted. */
  readonly unit: 's' | '1' | `{${string}}`
  /** One sentence. */
  readonly help: string
  readonly labels: readonly string[]
}

const request = { kind: 'counter', unit: '{request}', labels: ['operation'] } as const
const gauge = { kind: 'gauge', labels: [] } as const
const duration = { kind: 'histogram', unit: 's' } as const

export const definitions = {
  created: {
    ...request,
    name: 'api.idempotency.reserve.created.count',
    help: 'Keys that were taken for the first time: their handlers ran.',
  },
  replay: {
    ...request,
    name: 'api.idempotency.reserve.replay.count',
    help: 'Duplicates that were given the answer of the first.',
  },
  inProgress: {
    ...request,
    name: 'api.idempotency.reserve.in_progress.count',
    help: 'Duplicates that met a request that still ran, and were sent away.',
  },
  keyMisuse: {
    ...request,
    name: 'api.idempotency.reserve.key_misuse.count',
    help: 'Requests that came under the key of another request.',
  },
  failedRetry: {
    ...request,
    name: 'api.idempotency.reserve.failed_retry.count',
    help: 'Keys that went on from what an earlier attempt had left behind, by a retry or by a worker.',
    labels: ['operation', 'by'],
  },
  unknown: {
    ...request,
    name: 'api.idempotency.reserve.unknown.count',
    help: 'Retries that met an outcome which nobody knows.',
  },
  storeError: {
    name: 'api.idempotency.store.error.count',
    kind: 'counter',
    unit: '{error}',
    help: 'Steps of the store that failed or were too slow.',
    labels: ['step'],
  },
  zombieKey: {
    name: 'api.idempotency.zombie_key.count',
    kind: 'counter',
    unit: '{key}',
    help: 'Claims that nobody renewed any more, found and put in doubt.',
    labels: ['operation'],
  },
  ttlPruned: {
    name: 'api.idempotency.ttl_pruned.count',
    kind: 'counter',
    unit: '{key}',
    help: 'Records past their retention that were buried, and tombstones that were deleted.',
    labels: ['how'],
  },
  reconcileScheduled: {
    name: 'api.idempotency.reconcile.scheduled.count',
    kind: 'counter',
    unit: '{doubt}',
    help: 'Doubts that arose, each to be looked at.',
    labels: ['of'],
  },
  reconcileResolved: {
    name: 'api.idempotency.reconcile.resolved.count',
    kind: 'counter',
    unit: '{doubt}',
    help: 'Doubts that evidence has ended.',
    labels: ['of'],
  },
  reconcileFailed: {
    name: 'api.idempotency.reconcile.failed.count',
    kind: 'counter',
    unit: '{look}',
    help: 'Looks at a doubt that were in vain.',
    labels: ['of'],
  },

  runs: {
    name: 'api.idempotency.run.count',
    kind: 'counter',
    unit: '{run}',
    help: 'Handlers that ran, by how that ended.',
    labels: ['operation', 'ending'],
  },
  refused: {
    name: 'api.idempotency.refused.count',
    kind: 'counter',
    unit: '{request}',
    help: 'Requests that were turned away before or instead of an answer, by error code.',
    labels: ['operation', 'code'],
  },
  calls: {
    name: 'api.idempotency.call.count',
    kind: 'counter',
    unit: '{call}',
    help: 'Calls of handlers to the outside, by how they ended.',
    labels: ['operation', 'ending'],
  },
  effects: {
    name: 'api.idempotency.effect.count',
    kind: 'counter',
    unit: '{effect}',
    help: 'Attempts at effects, by how they ended, and what became of dead ones.',
    labels: ['kind', 'ending'],
  },
  webhooks: {
    name: 'api.idempotency.webhook.count',
    kind: 'counter',
    unit: '{event}',
    help: 'Events of providers, by what became of them.',
    labels: ['provider', 'ending'],
  },
  leftToOperator: {
    name: 'api.idempotency.left_to_operator.count',
    kind: 'counter',
    unit: '{doubt}',
    help: 'What only a person can go on with.',
    labels: ['of'],
  },
  workerPasses: {
    name: 'api.idempotency.worker.pass.count',
    kind: 'counter',
    unit: '{pass}',
    help: 'Passes that workers made.',
    labels: ['worker'],
  },
  workerFailures: {
    name: 'api.idempotency.worker.error.count',
    kind: 'counter',
    unit: '{pass}',
    help: 'Passes of workers that failed.',
    labels: ['worker'],
  },

  runDuration: {
    ...duration,
    name: 'api.idempotency.run.duration',
    help: 'From the reservation of a key to its durable answer.',
    labels: ['operation'],
  },
  storeDuration: {
    ...duration,
    name: 'api.idempotency.store.duration',
    help: 'What a step of the store took.',
    labels: ['step'],
  },
  workerDuration: {
    ...duration,
    name: 'api.idempotency.worker.duration',
    help: 'What a pass of a worker took.',
    labels: ['worker'],
  },

  duplicateRatio: {
    ...gauge,
    name: 'api.idempotency.duplicate.ratio',
    unit: '1',
    help: 'The part of the requests of the last minutes that were duplicates.',
  },
  storeUp: {
    ...gauge,
    name: 'api.idempotency.store.up',
    unit: '{store}',
    help: '1 when the store said what it holds the last time it was asked, 0 when it did not.',
  },
  circuitOpen: {
    ...gauge,
    name: 'api.idempotency.store.circuit_open',
    unit: '{circuit}',
    help: '1 while the store is left alone because it failed too often.',
  },
  workerLastPass: {
    ...gauge,
    name: 'api.idempotency.worker.last_pass.timestamp',
    unit: 's',
    help: 'When a worker made its last pass that did not fail, in seconds since 1970; 0 where each has failed.',
    labels: ['worker'],
  },
  keysStored: {
    ...gauge,
    name: 'api.idempotency.key.stored',
    unit: '{key}',
    help: 'Keys on record, tombstones aside; large numbers are estimates.',
  },
  inProgressStored: {
    ...gauge,
    name: 'api.idempotency.in_progress.stored',
    unit: '{key}',
    help: 'Keys whose handlers run, or were left by a crash and not found yet.',
  },
  inProgressAge: {
    ...gauge,
    name: 'api.idempotency.in_progress.age',
    unit: 's',
    help: 'How long ago the oldest run began that has not ended.',
  },
  unknownStored: {
    ...gauge,
    name: 'api.idempotency.unknown.stored',
    unit: '{doubt}',
    help: 'Keys and effects whose outcome nobody knows.',
    labels: ['of'],
  },
  unknownAge: {
    ...gauge,
    name: 'api.idempotency.unknown.age',
    unit: 's',
    help: 'How long the oldest doubt has lasted.',
    labels: ['of'],
  },
  operatorQueue: {
    ...gauge,
    name: 'api.idempotency.left_to_operator.stored',
    unit: '{doubt}',
    help: 'Doubts that wait for a person.',
    labels: ['of'],
  },
  effectsWaiting: {
    ...gauge,
    name: 'api.idempotency.effect.waiting',
    unit: '{effect}',
    help: 'Effects that are to be carried out, due or not.',
  },
  effectLag: {
    ...gauge,
    name: 'api.idempotency.effect.lag',
    unit: 's',
    help: 'How long the effect has been due that could be carried out first.',
  },
  deadLetters: {
    ...gauge,
    name: 'api.idempotency.dead_letter.stored',
    unit: '{effect}',
    help: 'Effects that are not tried again until a person says so.',
  },
} as const satisfies Readonly<Record<string, MetricDefinition>>

export type MetricId = keyof typeof definitions
