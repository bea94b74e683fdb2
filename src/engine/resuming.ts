import { within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import type { TraceEnd } from '../kernel/tracing.js'
import { type Context, subjectOf } from './context.js'
import { digestHex } from './digest.js'
import type { Guarded } from './guarded.js'
import { giveUp, subjectIn } from './leaving.js'
import type { Lookup } from './looking.js'
import { type Held, inputOf } from './operation.js'
import type { Outcome } from './outcome.js'
import type { RecordName, StoredRecord } from './record.js'
import { runClaimed, type Won } from './running.js'
import { traced, traceEndOf } from './traced.js'

/** What came of trying to go on with a record. */
export type Resumed = { readonly kind: 'ran'; readonly outcome: Outcome } | { readonly kind: 'not_ours' }

/**
 * Goes on with an operation that nobody holds, from its stored input and its recovery point, as a retry would; its client
 * need not come back. Whoever has it by now, or has ended it, is left alone.
 */
export async function resume<Tx>(context: Context<Tx>, record: StoredRecord): Promise<Resumed> {
  const held = context.operations.find(record.operation)
  if (held === undefined) return { kind: 'not_ours' }
  const { tracing } = context
  if (tracing === undefined) return goOn(context, held, record, undefined)
  const about = { operation: record.operation, kind: 'resumption', goesOnFrom: record.trace } as const
  return traced(tracing, about, (trace) => goOn(context, held, record, trace), endOf(record), record)
}

/** One that somebody else has by now was refused to us. */
function endOf(record: StoredRecord): (resumed: Resumed) => TraceEnd {
  return (resumed) =>
    resumed.kind === 'ran'
      ? traceEndOf(record, resumed.outcome)
      : { record: digestHex(record), outcome: 'refused', errorCode: 'not_ours' }
}

async function goOn<Tx>(
  context: Context<Tx>,
  held: Held<Tx>,
  record: StoredRecord,
  trace: string | undefined,
): Promise<Resumed> {
  const { policy } = held
  const askedAt = context.clock.elapsed()
  const verdict = await context.store.reserve({
    scope: record.scope,
    key: record.key,
    claimId: context.chance.id(),
    operation: record.operation,
    fingerprints: [record.fingerprint],
    leaseMs: policy.leaseMs,
    retentionMs: policy.retentionMs,
    tombstoneMs: policy.tombstoneMs,
    onLeaseOver: policy.onCrash === 'retry' ? 'resume' : 'doubt',
    onExpired: 'refuse',
    onNew: 'tell',
    trace,
  })
  if (verdict.kind === 'unknown' && verdict.swept) context.events.emit('swept', () => subjectIn(record))
  if (verdict.kind !== 'resumed' && verdict.kind !== 'reserved') return { kind: 'not_ours' }
  if (verdict.record.attempt > limits.resumeAttempts) return tooOften(context, verdict)
  const operation = guardedOperation(held, record, inputIn(context, verdict.record))
  const guarded: Guarded<Tx> = { ...operation, trace, resumedBy: 'worker' }
  const outcome = await runClaimed(context, guarded, verdict, askedAt)
  return { kind: 'ran', outcome }
}

/** One that never comes to an end of its own, such as one that ends its process each time, is left to a person. */
async function tooOften<Tx>(context: Context<Tx>, { claim, record }: Won): Promise<Resumed> {
  await giveUp(context, claim, subjectIn(record))
  return { kind: 'not_ours' }
}

/** An operation as the engine guards it, without a request. */
export function guardedOperation<Tx>(
  { operation, policy, wording }: Held<Tx>,
  { scope, key }: RecordName,
  input: string | undefined,
): Guarded<Tx> {
  return {
    scope,
    key,
    policy,
    input,
    source: { subject: [policy.name], mediaType: 'application/json', body: Buffer.from(input ?? 'null') },
    handler(work, stored = input) {
      if (stored === undefined)
        throw new HapaxError('progress_unreadable', 'The input of this operation is not on record.')
      return operation.handler(work, inputOf<never>(stored))
    },
    toAnswer: wording.toAnswer,
    errorToAnswer: wording.errorToAnswer,
  }
}

/** What cannot be read is told when the handler is about to run: it ends the attempt there. */
function inputIn<Tx>(context: Context<Tx>, record: StoredRecord): string | undefined {
  try {
    return context.progress.decode(record)?.input
  } catch {
    return undefined
  }
}

/** Asks the provider about the open call of an operation, by the operation's own `lookup`. */
export async function look<Tx>(context: Context<Tx>, record: StoredRecord, lookup: Lookup<Tx>): Promise<void> {
  const held = context.operations.find(record.operation)
  const input = inputIn(context, record)
  if (held === undefined || input === undefined) return
  const guarded = guardedOperation(held, record, input)
  const late = () =>
    new HapaxError('call_timeout', `"${subjectOf(guarded).operation}" did not come to its open call in time.`)
  await within(
    context.clock,
    Math.min(held.policy.leaseMs, defaults.lookTimeoutMs + defaults.lookMarginMs),
    Promise.resolve().then(() => guarded.handler(lookup, input)),
    late,
  ).catch((error: unknown) => lookup.failed(error))
}
