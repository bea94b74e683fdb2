import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { passing } from '../kernel/crash-points.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { backoffs, limits } from '../kernel/limits.js'
import { Stopping } from '../kernel/stopping.js'
import { landedIn, resultMissing } from './believing.js'
import { type CallPlan, callPlan, isRemembered } from './call-plan.js'
import { subjectOf } from './context.js'
import { derivedKey } from './downstream-key.js'
import { keepLate, keepResult } from './late-results.js'
import { codeOf } from './name.js'
import type { Phases } from './phases.js'
import { type Jsonified, jsonified } from './plain.js'
import type { OpenCall, RefusedCall } from './progress.js'
import type { Called, CallFailure, Calling, CallOptions, ResultNeed } from './work.js'

/**
 * One call to the outside, as a phase of its own, in this order: that it begins is durable; what is left of the lease is
 * looked at; the call is made, within its time; what it gave is durable; the handler goes on.
 *
 * Whatever goes wrong in between leaves the call open. A provider that honours the key is asked again with the same key and
 * input, by a later attempt, as long as it remembers it. With any other, an open call is doubt.
 */
export async function call<Tx, T, I, R extends ResultNeed>(
  phases: Phases<Tx>,
  name: string,
  options: CallOptions<T, I, R>,
): Promise<Called<T, R>> {
  const plan = callPlan(name, options, phases.ground.guarded.policy)
  const known = phases.enter('call', name)
  try {
    if (known !== undefined) return known.result as Called<T, R>
    const before = phases.progress.call
    const open = begunCall(phases, name, options, plan)
    await begin(phases, open)
    const told = await toldOf(phases, open)
    const result = told === undefined ? await made(phases, { open, before }, options) : told.result
    await recorded(phases, open, result)
    return result as Called<T, R>
  } finally {
    phases.leave()
  }
}

/** The call as an earlier attempt began it, or as it begins now. */
function begunCall<Tx, T, I>(
  phases: Phases<Tx>,
  name: string,
  { input, lookup, result }: CallOptions<T, I, ResultNeed>,
  plan: CallPlan,
): OpenCall {
  const now = phases.now()
  const { timeoutMs, readLagMs, honoursKeyForMs } = plan
  const asked = { canLookUp: lookup !== undefined, needsResult: result !== 'optional' }
  const known = { timeoutMs, readLagMs, ...(honoursKeyForMs !== undefined && { honoursKeyForMs }), ...asked }
  const before = phases.progress.call
  if (before === undefined) {
    const kept = jsonified(input, `input of call "${name}"`)
    const key = derivedKey('call', phases.ground.claim, name)
    const begunAt = knownSince(phases.progress.refused, name, plan, now)
    return { name, key, ...(kept !== undefined && { input: kept }), begunAt, ...known }
  }
  const open = { ...before, ...known }
  if (isRemembered(open, now)) return open
  phases.spoil({ kind: 'doubt', errorCode: 'downstream_key_forgotten' })
  const message = `Call "${name}" was begun before, and its provider may have forgotten the key since; nobody knows what became of it.`
  throw new HapaxError('outcome_unknown', message)
}

/** One that the provider has refused before is known to it since then, until it has forgotten that for certain. */
function knownSince(
  refused: RefusedCall | undefined,
  name: string,
  { honoursKeyForMs = 0 }: CallPlan,
  now: number,
): number {
  return refused?.name === name && now - refused.begunAt < honoursKeyForMs ? refused.begunAt : now
}

/**
 * What was said about a call while nobody was in doubt about it: that it landed after all, when "not landed" had been
 * believed. Nothing is sent then. A first attempt has sent nothing that somebody could speak of.
 */
async function toldOf<Tx>(phases: Phases<Tx>, open: OpenCall): Promise<{ readonly result: unknown } | undefined> {
  const { context, record } = phases.ground
  const landed = record.attempt > 1 ? await landedIn(context, record, open) : undefined
  if (landed === undefined) return undefined
  if (landed.kind === 'landed') return { result: landed.result }
  if (open.needsResult === false) return { result: undefined }
  phases.spoil({ kind: 'doubt', errorCode: resultMissing })
  const message = `Call "${open.name}" has landed, as ${landed.evidence.by} says, but what it returned is not known.`
  throw new HapaxError('outcome_unknown', message)
}

async function begin<Tx>(phases: Phases<Tx>, open: OpenCall): Promise<void> {
  const { key, name } = open
  const onLeaseOver = open.honoursKeyForMs === undefined ? 'doubt' : 'resume'
  const before = phases.progress
  try {
    await phases.mark({
      onLeaseOver,
      progress: { ...before, call: open },
      call: { kind: 'begun', key, phase: name },
    })
  } catch (error) {
    await notBegun(phases, open, error)
    throw error
  }
  passing('call.begun')
}

/** Nothing was sent, but that it begins may stand all the same, and would be a doubt about nothing: it is taken back. */
async function notBegun<Tx>(phases: Phases<Tx>, { key }: OpenCall, error: unknown): Promise<void> {
  if (isHapaxError(error, 'claim_lost')) return
  if (phases.progress.call === undefined) await taken(phases, key).catch(() => undefined)
  phases.unsure(error)
}

function taken<Tx>(phases: Phases<Tx>, key: string, refused?: RefusedCall): Promise<void> {
  const progress = { ...phases.withoutCall(), ...(refused && { refused }) }
  return phases.mark({ onLeaseOver: 'resume', progress, call: { kind: 'not_landed', key } })
}

/** A call that is about to be sent, and as it was begun by an earlier attempt. */
interface Sending {
  readonly open: OpenCall
  readonly before: OpenCall | undefined
}

/** Makes the call, unless the lease might end before it. Nobody else may take the call over while it runs. */
async function made<Tx, T, I>(
  phases: Phases<Tx>,
  sending: Sending,
  { run, classify }: CallOptions<T, I, ResultNeed>,
): Promise<unknown> {
  const { open } = sending
  const { context, lease, record, guarded } = phases.ground
  const { key } = open
  const leftMs = Math.min(open.timeoutMs, lease.heldForMs() - limits.callMarginMs)
  if (leftMs <= 0) {
    const error = new HapaxError('claim_lost', 'The lease is nearly over; nothing was sent.')
    throw await failed(phases, sending, error, 'not_sent')
  }
  const stopping = new Stopping()
  const late = () => new HapaxError('call_timeout', `Call "${open.name}" did not end within ${Math.round(leftMs)} ms.`)
  const cancel = context.clock.after(leftMs, () => stopping.stop(late()))
  const unlink = lease.stopping.onStop((reason) => stopping.stop(reason))
  const asked = new Asked(key, open.input as Jsonified<I>, record.attempt, stopping)
  const answer = Promise.resolve().then(() => run(asked))
  const stopped = new Promise<never>((_, reject) => stopping.onStop(reject))
  try {
    const value = await Promise.race([answer, stopped])
    passing('call.answered')
    return jsonified(value, `result of call "${open.name}"`)
  } catch (error) {
    context.events.emit('call_failed', () => ({ ...subjectOf(guarded), phase: open.name, errorCode: codeOf(error) }))
    if (stopping.isStopped) keepLate(phases.ground, open, answer)
    throw await failed(phases, sending, error, stopping.isStopped ? 'doubt' : meaningOf(error, classify))
  } finally {
    cancel()
    unlink()
  }
}

/** What a call is given: of a class, since a plain object with a getter has a shape of its own, which outlives it. */
class Asked<I> implements Calling<I> {
  readonly key: string
  readonly input: Jsonified<I>
  readonly attempt: number
  readonly #stopping: Stopping

  constructor(key: string, input: Jsonified<I>, attempt: number, stopping: Stopping) {
    this.key = key
    this.input = input
    this.attempt = attempt
    this.#stopping = stopping
  }

  get signal(): AbortSignal {
    return this.#stopping.signal
  }
}

/**
 * What the application says of its own error. That we ended the call, or that its result cannot be kept, says nothing of
 * what became of it.
 */
function meaningOf(error: unknown, classify: ((error: unknown) => CallFailure) | undefined): CallFailure {
  if (classify === undefined || isHapaxError(error, 'input_not_json')) return 'doubt'
  try {
    const meaning = classify(error)
    return meaning === 'answered' || meaning === 'not_sent' ? meaning : 'doubt'
  } catch {
    return 'doubt'
  }
}

/**
 * Leaves the call open, or, where it is certain that nothing happened, takes it back. That this attempt has sent nothing
 * says nothing of an earlier one that has. Gives the error to throw.
 */
async function failed<Tx>(
  phases: Phases<Tx>,
  { open, before }: Sending,
  error: unknown,
  meaning: CallFailure,
): Promise<unknown> {
  const isCertain = meaning === 'answered' || (meaning === 'not_sent' && before === undefined)
  if (isCertain) {
    const { name, begunAt } = open
    const notTaken = await taken(phases, open.key, meaning === 'answered' ? { name, begunAt } : undefined).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    if (notTaken === undefined) return error
    leaveUnsure(phases, open, notTaken.error)
    return error
  }
  leaveOpen(phases, open, codeOf(error))
  return error
}

function leaveOpen<Tx>(phases: Phases<Tx>, open: OpenCall, errorCode: string): void {
  phases.spoil({ kind: isRemembered(open, phases.now()) ? 'retry' : 'doubt', errorCode })
}

/** The call is over, and nobody knows whether the store has written that down: what it has says how to go on. */
function leaveUnsure<Tx>(phases: Phases<Tx>, open: OpenCall, error: unknown): void {
  phases.spoil({ kind: isRemembered(open, phases.now()) ? 'retry' : 'unsure', errorCode: codeOf(error) })
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
      const mayHelp = isHapaxError(error) && error.retryable
      if (isHapaxError(error, 'claim_lost') || !mayHelp || lease.heldForMs() <= 0) {
        if (mayHelp) leaveUnsure(phases, open, error)
        else leaveOpen(phases, open, codeOf(error))
        keepResult(phases.ground, open, result)
        throw error
      }
      await sleep(context.clock, backoffMs(backoffs.storing, attempt, context.chance), lease.stopping)
    }
  }
}
