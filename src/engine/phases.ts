import type { Awaitable } from '../kernel/awaitable.js'
import { passing } from '../kernel/crash-points.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { isRemembered } from './call-plan.js'
import { type CallMark, handedOut } from './call-store.js'
import { type CollectedEffects, collectedEffects } from './collected-effects.js'
import { type Context, subjectOf } from './context.js'
import { derivedKey } from './downstream-key.js'
import type { NewEffect } from './effect-store.js'
import type { Unsound } from './evidence.js'
import type { Guarded } from './guarded.js'
import type { Lease } from './lease.js'
import { anotherVersion, otherPhase, overlapping, refuseBadName, repeated } from './phase-errors.js'
import { type Jsonified, jsonified } from './plain.js'
import type { CommittedPhase, Progress } from './progress.js'
import { type Claim, finished, type OnLeaseOver, type StoredRecord } from './record.js'
import type { Checkpoint } from './store.js'
import { phaseOf, transactional } from './transactional.js'
import type { Phase } from './work.js'

/** What the phases of one run stand on. */
export interface Ground<Tx> {
  readonly context: Context<Tx>
  readonly guarded: Guarded<Tx>
  readonly claim: Claim
  readonly record: StoredRecord
  readonly lease: Pick<Lease, 'stopping' | 'startedAt' | 'heldForMs' | 'renewedAt'>
}

/**
 * The phases of one run, in the order in which its handler comes by them. Those that an earlier attempt has committed give
 * their stored results; from the first that is not on record, they run. A handler that comes by others than are on record is
 * not the code that wrote them: that is doubt, never a fresh start.
 */
export class Phases<Tx> {
  readonly ground: Ground<Tx>
  #progress: Progress
  #walked = 0
  readonly #begun = new Set<string>()
  #open: OpenPhase | undefined
  /** Whether a mark of a call was sent, and nobody knows yet that it is on record. */
  #isMarking = false
  #recoveryPoint: string
  #onLeaseOver: OnLeaseOver
  /** `undefined` is for ever. */
  #retentionMs: number | undefined
  #unsound: Unsound | undefined
  #handing: Promise<unknown> = Promise.resolve()

  /** Throws `progress_unreadable`, or `recovery_point_unknown` for what another version has committed. */
  constructor(ground: Ground<Tx>) {
    const { context, guarded, record } = ground
    const { version } = guarded.policy
    this.ground = ground
    this.#recoveryPoint = record.recoveryPoint
    this.#onLeaseOver = record.onLeaseOver
    this.#retentionMs = record.retentionMs
    const stored = context.progress.decode(record)
    this.#progress = stored ?? { version, phases: [] }
    const isUsed = this.#progress.phases.length > 0 || this.#progress.call !== undefined
    if (isUsed && this.#progress.version !== version) throw anotherVersion(this.#progress.version, version)
    if (!isUsed) this.#progress = { ...this.#progress, version }
  }

  get progress(): Progress {
    return this.#progress
  }

  get recoveryPoint(): string {
    return this.#recoveryPoint
  }

  get unsound(): Unsound | undefined {
    return this.#unsound
  }

  /** A phase that is on record, and that the handler has not come by. */
  get missed(): string | undefined {
    return (this.#progress.phases[this.#walked] ?? this.#progress.call)?.name
  }

  /**
   * How a run must end whose handler is over while a call is open, on record or under way: the provider is asked again while
   * it remembers the key; otherwise it is doubt, unless only the record knows whether the call has begun, or has ended.
   */
  get openCall(): Unsound['kind'] | undefined {
    const { call } = this.#progress
    const isUnderWay = this.#open?.kind === 'call'
    if (call !== undefined && isRemembered(call, this.now())) return 'retry'
    if (isUnderWay && this.#isMarking) return 'unsure'
    return call === undefined ? undefined : 'doubt'
  }

  /** Whether anything has happened that a later attempt must know of. */
  get isUsed(): boolean {
    return this.#begun.size > 0 || this.#progress.handedOut !== undefined
  }

  /** Whether a phase is under way. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** The first finding stands. */
  spoil(unsound: Unsound): void {
    this.#unsound ??= unsound
  }

  /**
   * A write of which nobody knows whether it happened, or will yet, is the last of its run: what came after it could be
   * undone by it. The next attempt has a higher fence, and reads what is on record.
   */
  unsure(error: unknown): void {
    if (isHapaxError(error) && error.code !== 'claim_lost') this.spoil({ kind: 'retry', errorCode: error.code })
  }

  async transaction<T>(name: string, body: (at: Phase<Tx>) => Awaitable<T>): Promise<Jsonified<T>> {
    const known = this.enter('transaction', name)
    try {
      if (known !== undefined) return known.result as Jsonified<T>
      const { result, progress } = await this.#ran(name, body)
      passing('phase.committed')
      this.#committed(name, progress)
      return result as Jsonified<T>
    } finally {
      this.leave()
    }
  }

  async #ran<T>(name: string, body: (at: Phase<Tx>) => Awaitable<T>) {
    const store = transactional(this.ground.context.wholeStore)
    const effects = this.#collect(name)
    let isWritten = false
    try {
      const { value } = await store.transaction(this.ground.claim, async (tx) => {
        const result = jsonified(await body(phaseOf(tx, effects)), `result of phase "${name}"`)
        const asked = effects.end()
        const progress = this.after({ name, result })
        const write = this.#checkpoint(name, 'resume', progress)
        passing('phase.open')
        isWritten = true
        return { value: { result, progress }, write, effects: asked }
      })
      this.tellEffects(effects.end())
      return value
    } catch (error) {
      if (isWritten) this.unsure(error)
      else this.undone(name)
      throw error
    } finally {
      effects.end()
    }
  }

  /** Rolled back before anything of it was written: it may run again in this run, and does not stand in the way of a release. */
  undone(name: string): void {
    this.#begun.delete(name)
  }

  /** The handler comes by a phase: gives it if it is on record, and otherwise lets it begin. Whoever enters leaves. */
  enter(kind: OpenPhase['kind'], name: string): CommittedPhase | undefined {
    this.refuseUnsound()
    if (this.#open !== undefined) throw overlapping(kind, name, this.#open)
    if (kind !== 'commit') {
      refuseBadName(name)
      if (this.#begun.has(name)) throw repeated(name)
    }
    const known = this.#progress.phases[this.#walked]
    const expected = known ?? this.#progress.call
    const isOtherCode = expected !== undefined && expected.name !== name
    // An open call is only ever gone on with by a call.
    if (isOtherCode || (expected === this.#progress.call && expected !== undefined && kind !== 'call'))
      throw this.#lost(expected.name, name)
    this.#begun.add(name)
    this.#open = { kind, name, effects: undefined }
    if (known !== undefined) this.#walked++
    return known
  }

  leave(): void {
    this.#open = undefined
  }

  effect: Phase<Tx>['effect'] = (kind, payload, options) => {
    const effects = this.#open?.effects
    if (effects === undefined)
      throw new HapaxError(
        'effect_outside_phase',
        'Ask for an effect inside of work.transaction or work.commit: it commits with that.',
      )
    effects.add(kind, payload, options)
  }

  tellEffects({ length: count }: readonly NewEffect[]): void {
    const { context, guarded } = this.ground
    if (count > 0) context.events.emit('effects_written', () => ({ ...subjectOf(guarded), count }))
  }

  /** Begins the last phase, and gives the effects that it will have. */
  enterCommit(): CollectedEffects {
    this.enter('commit', finished)
    return this.#collect(finished)
  }

  /** Writes that a call begins or has ended. */
  async mark(step: {
    recoveryPoint?: string
    onLeaseOver: OnLeaseOver
    progress: Progress
    call: CallMark
  }): Promise<void> {
    const { context, lease } = this.ground
    const { recoveryPoint = this.#recoveryPoint, onLeaseOver, progress, call } = step
    const sentAt = context.clock.elapsed()
    const checkpoint = this.#checkpoint(recoveryPoint, onLeaseOver, progress, call)
    this.#isMarking = true
    await this.#write(checkpoint)
    this.#isMarking = false
    lease.renewedAt(sentAt)
    this.#onLeaseOver = onLeaseOver
    this.#committed(recoveryPoint, progress)
  }

  /**
   * A key for a call that the handler makes by itself. That it was given is durable before it is, so that whoever speaks of
   * it later finds the record. A handler that asks for several at once gets one after another.
   */
  handOut(name: string): Promise<string> {
    const given = this.#handing.then(() => this.#handedOut(name))
    this.#handing = given.catch(() => {})
    return given
  }

  async #handedOut(name: string): Promise<string> {
    const { context, claim, guarded, lease } = this.ground
    const key = derivedKey('call', claim, name)
    const { phases, call, handedOut: before } = this.#progress
    const isOnRecord = call?.name === name || phases.some((one) => one.name === name) || before?.names.includes(name)
    if (isOnRecord || context.wholeStore.calls === undefined) return key
    this.refuseUnsound()
    if (this.#open !== undefined) throw overlapping('downstreamKey', 'downstreamKey', this.#open)
    this.#open = { kind: 'downstreamKey', name: 'downstreamKey', effects: undefined }
    try {
      const names = [...(before?.names ?? []), name]
      const progress = { ...this.#progress, handedOut: { names, runMs: guarded.policy.maxRunMs } }
      const sentAt = context.clock.elapsed()
      await this.#write(this.#checkpoint(this.#recoveryPoint, this.#onLeaseOver, progress, handedOut(key)))
      lease.renewedAt(sentAt)
      this.#progress = progress
      return key
    } catch (error) {
      this.unsure(error)
      throw error
    } finally {
      this.leave()
    }
  }

  /** Keeps the record for longer: never for less than it is kept already, or a late retry would run again. */
  async extend(givenMs: number | 'forever'): Promise<void> {
    this.refuseUnsound()
    if (this.#open !== undefined) throw overlapping('extend', 'extend', this.#open)
    // Nothing else is written meanwhile: it would find the recovery point as it is now.
    this.#open = { kind: 'extend', name: 'extend', effects: undefined }
    try {
      await this.#extended(givenMs)
    } catch (error) {
      this.unsure(error)
      throw error
    } finally {
      this.leave()
    }
  }

  async #extended(givenMs: number | 'forever'): Promise<void> {
    const { leaseMs } = this.ground.guarded.policy
    const keptMs = this.#retentionMs ?? Number.POSITIVE_INFINITY
    const longerMs = Math.max(keptMs, givenMs === 'forever' ? Number.POSITIVE_INFINITY : givenMs)
    const retentionMs = longerMs === Number.POSITIVE_INFINITY ? 'forever' : longerMs
    await this.#write({ recoveryPoint: this.#recoveryPoint, onLeaseOver: this.#onLeaseOver, leaseMs, retentionMs })
    this.#retentionMs = retentionMs === 'forever' ? undefined : retentionMs
  }

  /** What is on record once this phase is. */
  after(phase: CommittedPhase): Progress {
    const progress = this.withoutCall()
    return { ...progress, phases: [...progress.phases, phase] }
  }

  /** What is on record while no call is open. */
  withoutCall(): Progress {
    const { call: _ended, ...progress } = this.#progress
    return progress
  }

  /** The store's time, by the monotonic clock since it was told last. */
  now(): number {
    const { context, record, lease } = this.ground
    return record.lastRunAt + (context.clock.elapsed() - lease.startedAt)
  }

  refuseUnsound(): void {
    const unsound = this.#unsound
    if (unsound === undefined) return
    const message = `What became of an earlier call is not known (${unsound.errorCode}); nothing may follow it.`
    throw new HapaxError('outcome_unknown', message)
  }

  async #write(checkpoint: Checkpoint): Promise<void> {
    const { context, claim } = this.ground
    if (!(await context.store.checkpoint(claim, checkpoint))) throw new HapaxError('claim_lost')
  }

  #checkpoint(recoveryPoint: string, onLeaseOver: OnLeaseOver, progress: Progress, call?: CallMark) {
    const { context, claim, guarded } = this.ground
    const { leaseMs } = guarded.policy
    const bytes = context.progress.encode(progress, claim)
    return { kind: 'checkpoint', recoveryPoint, onLeaseOver, leaseMs, progress: bytes, call } as const
  }

  #committed(recoveryPoint: string, progress: Progress): void {
    const isNew = progress.phases.length > this.#progress.phases.length
    this.#progress = progress
    this.#walked = progress.phases.length
    this.#recoveryPoint = recoveryPoint
    if (!isNew) return
    this.#onLeaseOver = 'resume'
    const { context, guarded } = this.ground
    context.events.emit('phase_committed', () => ({ ...subjectOf(guarded), phase: recoveryPoint }))
  }

  #collect(name: string): CollectedEffects {
    const { context, claim, guarded } = this.ground
    const canKeep = context.wholeStore.effects !== undefined
    const effects = collectedEffects(claim, name, { catalogue: context.effects, canKeep, policy: guarded.policy })
    if (this.#open !== undefined) this.#open = { ...this.#open, effects }
    return effects
  }

  /** Nothing may follow: what is on record was written by other code. */
  #lost(expected: string, name: string): HapaxError {
    this.spoil({ kind: 'doubt', errorCode: 'recovery_point_unknown' })
    return otherPhase(expected, name)
  }
}

interface OpenPhase {
  readonly kind: 'transaction' | 'call' | 'commit' | 'extend' | 'downstreamKey'
  readonly name: string
  readonly effects: CollectedEffects | undefined
}
