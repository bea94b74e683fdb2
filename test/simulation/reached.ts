import { resultMissing } from '../../src/engine/believing.js'
import type { StoredEffect } from '../../src/engine/effect-store.js'
import type { StoredRecord } from '../../src/engine/record.js'
import { abandoned, leaseOver } from '../../src/engine/transitions.js'
import type { Unfinished } from './database/database.js'
import { isAskedAbout, isGivenUp, isLookedAtTooOften } from './invariants/bounds.js'
import type { Change } from './invariants/row-changes.js'
import { Declined } from './moods.js'
import type { Way } from './world/faults.js'

/**
 * What schedules have to come by while something can still go wrong: a search that never does shows nothing. A case names what
 * it is about, and fails if no schedule of it gets there; a campaign counts all of them.
 */
export const features = [
  'five requests or more, of several tenants, at several nodes',
  'a replay',
  'an answer that was waited for',
  'a key that was malformed',
  'a handler that failed',
  'a failure that is an answer',
  'an answer that was too long to be kept',
  'an answer that nobody could write down',
  'a retry of what was not kept',
  'a request that was sent away',
  'a statement for several requests',
  'two statements for several requests at once',
  'a key that was claimed again',
  'a doubt',
  'a doubt that was swept',
  'a doubt that the reconciler ended',
  'a doubt that a webhook ended',
  'a doubt that an operator ended',
  'a doubt that was left to an operator',
  'a doubt that its holder ended',
  'a call that had not landed',
  'a call whose result could not be kept',
  'a tombstone',
  'a tombstone that was forgotten',
  'a key that was used anew',
  'a record with open effects that met the reaper',
  'half-done work that met the reaper',
  'work that nobody came back for',
  'a worker whose pass failed, and that goes on',
  'an effect that was claimed',
  'an effect that was claimed again',
  'an effect that was done',
  'an effect in doubt',
  'an effect whose result could not be kept',
  'an effect whose doubt was ended',
  'an effect that failed, and is tried again',
  'an effect that was declined',
  'an effect that was tried for too long',
  'an effect whose provider could not say yet',
  'an effect in doubt that was left to an operator',
  'a request that was lost',
  'a reply that was lost',
  'a request whose line broke while it was under way',
  'a request that arrived late after its line broke',
  'a statement that was cancelled',
  'a process that crashed before what it asked for',
  'a process that crashed after what it asked for',
  'a process that crashed while what it asked for was under way',
  'a reply that was late',
  'a reply that was late by more than a lease',
  'a process that was stopped, and whose timers were due first',
  'a process that was stopped when it had a reply',
  'a jump of the clock of the database',
  'a clock of a process that went back',
  'a clock of a process that went ahead',
  'time that passed although something could happen',
  'a call that landed, and nobody said with what',
  'a call of which it was enough that it landed',
  'a lookup that contradicts what was said',
  'an effect that landed, and nobody said with what',
  'work that was given up after too many attempts',
  'a doubt that was left to people after days',
  'an effect in doubt that was left to people after days',
] as const

/** By which each way in which something goes wrong is counted: a search that never takes one shows nothing of it. */
const ways: Readonly<Record<Way, Feature>> = {
  break_before: 'a request that was lost',
  break_after: 'a reply that was lost',
  break_meanwhile: 'a request whose line broke while it was under way',
  linger: 'a request that arrived late after its line broke',
  cancel: 'a statement that was cancelled',
  crash_before: 'a process that crashed before what it asked for',
  crash_after: 'a process that crashed after what it asked for',
  crash_meanwhile: 'a process that crashed while what it asked for was under way',
  late_reply: 'a reply that was late',
  overdue_reply: 'a reply that was late by more than a lease',
  freeze: 'a process that was stopped, and whose timers were due first',
  stall: 'a process that was stopped when it had a reply',
  clock_jump: 'a jump of the clock of the database',
  wall_back: 'a clock of a process that went back',
  wall_ahead: 'a clock of a process that went ahead',
  haste: 'time that passed although something could happen',
}

export type Feature = (typeof features)[number]

export class Reached {
  readonly #reached = new Set<Feature>()

  has(feature: Feature): boolean {
    return this.#reached.has(feature)
  }

  [Symbol.iterator](): Iterator<Feature> {
    return this.#reached.values()
  }

  note(feature: Feature): void {
    this.#reached.add(feature)
  }

  wentWrong(way: Way): void {
    this.note(ways[way])
  }

  record({ before, after }: Change<StoredRecord>): void {
    if (after === undefined) {
      if (before?.state === 'expired') this.note('a tombstone that was forgotten')
      return
    }
    if (after.attempt > 1 && after.state === 'in_progress') this.note('a key that was claimed again')
    if (after.state === 'expired') this.note('a tombstone')
    if (before !== undefined && after.generation > before.generation) this.note('a key that was used anew')
    if (after.state === 'completed' && after.answer?.kind === 'withheld') this.#notKept(after.answer.status)
    if (after.state === 'unknown') this.#doubt(before, after)
    if (before?.state === 'unknown' && after.state !== 'unknown') this.#settled(before, after)
  }

  #notKept(status: number): void {
    this.note(status === 0 ? 'an answer that nobody could write down' : 'an answer that was too long to be kept')
  }

  reaper(met: Unfinished): void {
    this.note(
      met === 'half-done' ? 'half-done work that met the reaper' : 'a record with open effects that met the reaper',
    )
  }

  effect({ before, after }: Change<StoredEffect>): void {
    if (after?.state === 'leased')
      this.note(after.started > 1 ? 'an effect that was claimed again' : 'an effect that was claimed')
    if (after?.state === 'done') this.note('an effect that was done')
    if (after?.state === 'unknown') this.#effectDoubt(after)
    if (before?.state === 'leased' && after?.state === 'ready' && after.finished > before.finished)
      this.note('an effect that failed, and is tried again')
    if (after?.state === 'dead' && after.errorCode !== 'poison')
      this.note(
        after.errorCode === Declined.name ? 'an effect that was declined' : 'an effect that was tried for too long',
      )
    if (before?.state === 'unknown' && after !== undefined && after.state !== 'unknown')
      this.note('an effect whose doubt was ended')
  }

  /** It takes so long that it comes when nothing goes wrong any more. */
  givenUp({ after }: Change<StoredRecord>): void {
    if (after === undefined) return
    if (isGivenUp(after)) this.note('work that was given up after too many attempts')
    if (isLookedAtTooOften(after)) this.note('a doubt that was left to people after days')
  }

  effectLeft({ before, after }: Change<StoredEffect>): void {
    if (before?.state !== 'unknown' || after?.state !== 'unknown' || after.reconcileAfter !== undefined) return
    if (isAskedAbout(after)) this.note('an effect in doubt that was left to people after days')
  }

  #effectDoubt({ looks, reconcileAfter, errorCode }: StoredEffect): void {
    this.note('an effect in doubt')
    if (errorCode === 'result_lost') this.note('an effect whose result could not be kept')
    if (looks > 0) this.note('an effect whose provider could not say yet')
    if (reconcileAfter === undefined) this.note('an effect in doubt that was left to an operator')
  }

  #doubt(before: StoredRecord | undefined, { errorCode, reconcileAfter }: StoredRecord): void {
    this.note('a doubt')
    if (errorCode === 'input_not_json') this.note('a call whose result could not be kept')
    if (errorCode === resultMissing) this.note('a call that landed, and nobody said with what')
    if (errorCode === abandoned) this.note('work that nobody came back for')
    if (before?.state === 'in_progress' && errorCode === leaseOver) this.note('a doubt that was swept')
    if (reconcileAfter === undefined) this.note('a doubt that was left to an operator')
  }

  #settled(before: StoredRecord, after: StoredRecord): void {
    if (after.claimId === before.claimId && after.state === 'completed') this.note('a doubt that its holder ended')
    const last = after.evidence.length > before.evidence.length ? after.evidence.at(-1) : undefined
    if (last?.says === 'not_landed') this.note('a call that had not landed')
    if (last?.by === 'reconciler') this.note('a doubt that the reconciler ended')
    else if (last?.by.startsWith('webhook')) this.note('a doubt that a webhook ended')
    else if (last?.by.startsWith('operator')) this.note('a doubt that an operator ended')
  }
}
