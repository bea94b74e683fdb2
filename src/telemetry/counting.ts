import type { Emitter, EventName, Tallied } from '../kernel/events.js'
import type { Metrics } from './metrics.js'
import { type OperationCountsOf, operationCounts } from './operation-counts.js'
import type { TenantCounting } from './tenant-rates.js'

/** What a listener to each event does. Those that no metric is made of are left out. */
type Counting = { readonly [Name in EventName]?: (event: Tallied<Name>) => void }

/** Counts what an engine tells, from now on. The function returned stops it. */
export function counting(
  events: Pick<Emitter, 'tally'>,
  metrics: Metrics,
  tenants: TenantCounting,
  now: () => number,
): () => void {
  begin(metrics)
  const of = operationCounts(metrics)
  const all = [
    ...told(events, requests(metrics, of, tenants)),
    ...told(events, records(metrics, of)),
    ...told(events, store(metrics)),
    ...told(events, outside(metrics)),
    ...told(events, workers(metrics, now)),
  ]
  return () => {
    for (const stop of all) stop()
  }
}

function told(events: Pick<Emitter, 'tally'>, counting: Counting): readonly (() => void)[] {
  return Object.entries(counting).map(([name, listener]) => events.tally(name as EventName, listener as () => void))
}

/** Every request comes by here: whatever it is told is one look into a map and a few additions. */
function requests(metrics: Metrics, of: OperationCountsOf, tenants: TenantCounting): Counting {
  return {
    reserved({ operation, scope }) {
      of(operation).created.value++
      tenants.ran(scope)
    },
    resumed({ operation, scope, by }) {
      // What a worker goes on with came as a request once, and was counted then.
      if (by === 'worker') return void of(operation).failedRetryByWorker.value++
      of(operation).failedRetry.value++
      tenants.ran(scope)
    },
    replayed({ operation, scope }) {
      of(operation).replay.value++
      tenants.duplicate(scope)
    },
    shared({ operation, scope }) {
      of(operation).replay.value++
      tenants.duplicate(scope)
    },
    met_in_progress({ operation, scope, reply }) {
      // Who waits is counted by what it is given in the end.
      if (reply === 'waits') return
      of(operation).inProgress.value++
      tenants.conflict(scope)
    },
    met_unknown({ operation, scope }) {
      of(operation).unknown.value++
      tenants.duplicate(scope)
    },
    mismatched({ operation, scope }) {
      of(operation).keyMisuse.value++
      tenants.mismatch(scope)
    },
    completed({ operation, runMs }) {
      const counts = of(operation)
      counts.completed.value++
      counts.runDuration.record(runMs / 1_000)
    },
    failed({ operation }) {
      of(operation).failed.value++
    },
    doubted({ operation }) {
      of(operation).doubted.value++
      metrics.reconcileScheduled.at('record').value++
    },
    swept({ operation }) {
      of(operation).zombieKey.value++
      metrics.reconcileScheduled.at('record').value++
    },
  }
}

function records({ runs, refused, calls, ttlPruned, ...metrics }: Metrics, of: OperationCountsOf): Counting {
  /** All counts of its operation are there from now on: where nobody was ever let in, the part of refusals is known, too. */
  function refuse(operation: string, errorCode: string): void {
    of(operation)
    refused.at(operation, errorCode).value++
  }
  return {
    released: ({ operation }) => void runs.at(operation, 'released').value++,
    overran: ({ operation }) => void runs.at(operation, 'overran').value++,
    claim_lost: ({ operation }) => void runs.at(operation, 'claim_lost').value++,
    ran_unprotected: ({ operation }) => void of(operation).unprotected.value++,
    turned_away: ({ operation, errorCode }) => refuse(operation, errorCode),
    replay_refused: ({ operation, errorCode }) => refuse(operation, errorCode),
    reservation_failed: ({ operation, errorCode }) => refuse(operation, errorCode),
    refused_expired: ({ operation }) => refuse(operation, 'idempotency_key_expired'),
    call_landed: ({ operation }) => void calls.at(operation, 'landed').value++,
    call_failed: ({ operation }) => void calls.at(operation, 'failed').value++,
    settled: () => void metrics.reconcileResolved.at('record').value++,
    looked_in_vain: () => void metrics.reconcileFailed.at('record').value++,
    left_to_operator: () => void metrics.leftToOperator.at('record').value++,
    reaped({ buried, deleted }) {
      ttlPruned.at('buried').value += buried
      ttlPruned.at('deleted').value += deleted
    },
  }
}

function store({ storeError, storeDuration, circuitOpen }: Metrics): Counting {
  return {
    store_answered: ({ step, tookMs }) => storeDuration.at(step).record(tookMs / 1_000),
    store_failed: ({ step }) => void storeError.at(step).value++,
    circuit_opened() {
      circuitOpen.at().value = 1
    },
    circuit_closed() {
      circuitOpen.at().value = 0
    },
  }
}

function outside({ effects, webhooks, ...metrics }: Metrics): Counting {
  return {
    effect_done: ({ kind }) => void effects.at(kind, 'done').value++,
    effect_retried: ({ kind }) => void effects.at(kind, 'retried').value++,
    effect_dead: ({ kind }) => void effects.at(kind, 'dead').value++,
    effect_doubted({ kind }) {
      effects.at(kind, 'doubted').value++
      metrics.reconcileScheduled.at('effect').value++
    },
    effect_lost: ({ kind }) => void effects.at(kind, 'lost').value++,
    effect_redriven: ({ kind }) => void effects.at(kind, 'redriven').value++,
    effect_discarded: ({ kind }) => void effects.at(kind, 'discarded').value++,
    effect_reconciled: () => void metrics.reconcileResolved.at('effect').value++,
    effect_unresolved() {
      metrics.reconcileFailed.at('effect').value++
      metrics.leftToOperator.at('effect').value++
    },
    webhook_received: ({ provider }) => void webhooks.at(provider, 'received').value++,
    webhook_duplicate: ({ provider }) => void webhooks.at(provider, 'duplicate').value++,
    webhook_refused: ({ provider }) => void webhooks.at(provider, 'refused').value++,
  }
}

function workers(metrics: Metrics, now: () => number): Counting {
  return {
    worker_passed({ worker, tookMs }) {
      metrics.workerPasses.at(worker).value++
      metrics.workerFailures.at(worker)
      metrics.workerDuration.at(worker).record(tookMs / 1_000)
      metrics.workerLastPass.at(worker).value = now() / 1_000
    },
    worker_failed({ worker }) {
      metrics.workerFailures.at(worker).value++
      // One that has failed ever since it was started is missed as well.
      metrics.workerLastPass.at(worker)
    },
  }
}

/** What is on a closed list is there from the start, at zero, so that the first of each is seen as a step. */
function begin(metrics: Metrics): void {
  for (const step of steps) metrics.storeError.at(step)
  for (const how of ['buried', 'deleted']) metrics.ttlPruned.at(how)
  const { reconcileScheduled, reconcileResolved, reconcileFailed, leftToOperator } = metrics
  for (const counter of [reconcileScheduled, reconcileResolved, reconcileFailed, leftToOperator])
    for (const of of ['record', 'effect']) counter.at(of)
  metrics.circuitOpen.at()
}

/** Those that a request waits for, and what is asked for the gauges. */
const steps = ['reserve', 'renew', 'checkpoint', 'complete', 'release', 'fail', 'doubt', 'find', 'usage', 'measure']
