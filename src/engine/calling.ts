import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { passing } from '../kernel/crash-points.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { backoffs, limits } from '../kernel/limits.js'
import { type CallPlan, callPlan, isRemembered } from './call-plan.js'
import { subjectOf } from './context.js'
import { derivedKey } from './downstream-key.js'
import { codeOf } from './evidence.js'
import type { Phases } from './phases.js'
import { type Jsonified, jsonified } from './plain.js'
import type { OpenCall } from './progress.js'
import type { CallFailure, CallOptions } from './work.js'

/**
 * One call to the outside, as a phase of its own, in this order: that it begins is durable; what is left of the lease is
 * looked at; the call is made, within its time; what it gave is durable; the handler goes on.
 *
 * Whatever goes wrong in between leaves the call open. A provider that honours the key is asked again with the same key and
 * input, by a later attempt, as long as it remembers it. With any other, an open call is doubt.
 */
export async function call<Tx, T, I>(
  phases: Phases<Tx>,
  name: string,
  options: CallOptions<T, I>,
): Promise<Jsonified<T>> {
  const plan = callPlan(name, options, phases.ground.guarded.policy)
  const known = phases.enter('call', name)
  try {
    if (known !== undefined) return known.result as Jsonified<T>
    const open = begunCall(phases, name, options, plan)
    await begin(phases, open)
    const result = await made(phases, open, options)
    await recorded(phases, open, result)
    return result as Jsonified<T>
  } finally {
    phases.leave()
  }
}

/** The call as an earlier attempt began it, or as it begins now. */
function begunCall<Tx, T, I>(
  phases: Phases<Tx>,
  name: string,
  { input, lookup }: CallOptions<T, I>,
  plan: CallPlan,
): OpenCall {
  const now = phases.now()
  const { timeoutMs, readLagMs, honoursKeyForMs } = plan
  const canLookUp = lookup !== undefined
  const known = { timeoutMs, readLagMs, ...(honoursKeyForMs !== undefined && { honoursKeyForMs }), canLookUp }
  const before = phases.progress.call
  if (before === undefined) {
    const kept = jsonified(input, `input of call "${name}"`)
    const key = derivedKey('call', phases.ground.claim, name)
    return { name, key, ...(kept !== undefined && { input: kept }), begunAt: now, ...known }
  }
  const open = { ...before, ...known }
  if (isRemembered(open, now)) return open
  phases.spoil({ kind: 'doubt', errorCode: 'downstream_key_forgotten' })
  const message = `Call "${name}" was begun before, and its provider may have forgotten the key since; nobody knows what became of it.`
  throw new HapaxError('outcome_unknown', message)
}

async function begin<Tx>(phases: Phases<Tx>, open: OpenCall): Promise<void> {
  const { key, name } = open
  const onLeaseOver = open.honoursKeyForMs === undefined ? 'doubt' : 'resume'
  await phases.mark({
    onLeaseOver,
    progress: { ...phases.progress, call: open },
    call: { kind: 'begun', key, phase: name },
  })
  passing('call.begun')
}

/** Makes the call, unless the lease might end before it. Nobody else may take the call over while it runs. */
async function made<Tx, T, I>(
  phases: Phases<Tx>,
  open: OpenCall,
  { run, classify }: CallOptions<T, I>,
): Promise<unknown> {
  const { context, lease, record, guarded } = phases.ground
  const { key } = open
  const leftMs = Math.min(open.timeoutMs, lease.heldForMs() - limits.callMarginMs)
  if (leftMs <= 0)
    throw await failed(
      phases,
      open,
      new HapaxError('claim_lost', 'The lease is nearly over; nothing was sent.'),
      'not_sent',
    )
  const enough = new AbortController()
  const late = new HapaxError('call_timeout', `Call "${open.name}" did not end within ${Math.round(leftMs)} ms.`)
  const cancel = context.clock.after(leftMs, () => enough.abort(late))
  const signal = AbortSignal.any([enough.signal, lease.signal])
  try {
    const input = open.input as Jsonified<I>
    const answer = Promise.resolve().then(() => run({ key, signal, input, attempt: record.attempt }))
    const value = await Promise.race([answer, aborted(signal)])
    passing('call.answered')
    return jsonified(value, `result of call "${open.name}"`)
  } catch (error) {
    context.events.emit('call_failed', () => ({ ...subjectOf(guarded), phase: open.name, errorCode: codeOf(error) }))
    throw await failed(phases, open, error, meaningOf(error, classify, late))
  } finally {
    cancel()
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    else signal.addEventListener('abort', give, { once: true })
  })
}

/** What the application says of its own error. A time that ran out, or a result that cannot be kept, says nothing. */
function meaningOf(
  error: unknown,
  classify: ((error: unknown) => CallFailure) | undefined,
  late: HapaxError,
): CallFailure {
  if (classify === undefined || error === late || isHapaxError(error, 'input_not_json')) return 'doubt'
  try {
    const meaning = classify(error)
    return meaning === 'answered' || meaning === 'not_sent' ? meaning : 'doubt'
  } catch {
    return 'doubt'
  }
}

/** Leaves the call open, or, where it is certain that nothing happened, takes it back. Gives the error to throw. */
async function failed<Tx>(phases: Phases<Tx>, open: OpenCall, error: unknown, meaning: CallFailure): Promise<unknown> {
  if (meaning !== 'doubt') {
    const ended = { kind: 'not_landed', key: open.key } as const
    const isTakenBack = await phases.mark({ onLeaseOver: 'resume', progress: phases.withoutCall(), call: ended }).then(
      () => true,
      () => false,
    )
    if (isTakenBack) return error
  }
  leaveOpen(phases, open, codeOf(error))
  return error
}

function leaveOpen<Tx>(phases: Phases<Tx>, open: OpenCall, errorCode: string): void {
  phases.spoil({ kind: isRemembered(open, phases.now()) ? 'retry' : 'doubt', errorCode })
}

/** The call has landed: until that is durable nothing may follow it, and a store that fails is asked again while the lease is held. */
async function recorded<Tx>(phases: Phases<Tx>, open: OpenCall, result: unknown): Promise<void> {
  const { context, lease, guarded } = phases.ground
  const { name, key } = open
  const step = {
    recoveryPoint: name,
    onLeaseOver: 'resume',
    progress: phases.after({ name, ...(result !== undefined && { result }) }),
    call: { kind: 'landed', key },
  } as const
  for (let attempt = 1; ; attempt++) {
    try {
      await phases.mark(step)
      passing('call.recorded')
      context.events.emit('call_landed', () => ({ ...subjectOf(guarded), phase: name }))
      return
    } catch (error) {
      if (isHapaxError(error, 'claim_lost') || !isHapaxError(error) || !error.retryable || lease.heldForMs() <= 0) {
        leaveOpen(phases, open, codeOf(error))
        throw error
      }
      await sleep(context.clock, backoffMs(backoffs.storing, attempt, context.chance), lease.signal)
    }
  }
}
