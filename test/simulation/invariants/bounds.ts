import type { StoredEffect } from '../../../src/engine/effect-store.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import { promised } from '../application.js'
import { demand } from '../violation.js'
import { nameOf, type RecordChange } from './records.js'
import type { Change } from './row-changes.js'

/** What never comes right is left to its client, or to people, when it has been tried as often as was promised, and not before. */
export function judgeBounds(change: RecordChange): void {
  const { before, after } = change
  if (before === undefined || after === undefined) return
  if (before.state === 'in_progress' && after.state === 'failed_retryable') judgeAttempts(after, nameOf(change))
  if (before.state === 'unknown' && after.state === 'unknown') judgeLooks(before, after, change.at, nameOf(change))
}

/** Whether it has gone on by itself so often that only its client, or a person, goes on with it. */
export function isGivenUp({ state, errorCode }: StoredRecord): boolean {
  return state === 'failed_retryable' && errorCode === 'resumed_too_often'
}

/** Whether a doubt about it is for people because nobody could ever say what became of it. */
export function isLookedAtTooOften({ state, errorCode }: StoredRecord): boolean {
  return state === 'unknown' && errorCode === 'looked_too_often'
}

function judgeAttempts(after: StoredRecord, name: string): void {
  const { attempt, reconcileAfter } = after
  const isOver = attempt >= promised.attempts
  if (isGivenUp(after)) demand(isOver, () => `${name} was given up after ${attempt} attempts`)
  if (reconcileAfter !== undefined) demand(!isOver, () => `${name} goes on by itself after ${attempt} attempts`)
}

function judgeLooks(before: StoredRecord, after: StoredRecord, now: number, name: string): void {
  const { looks, reconcileAfter } = after
  const isOver = looks >= promised.looks
  if (isLookedAtTooOften(after) && !isLookedAtTooOften(before)) {
    const isOld = now - (before.doubtedAt ?? now) > promised.doubtMs
    demand(isOver || isOld, () => `the doubt about ${name} was left to people after ${looks} looks in vain`)
  }
  if (looks > before.looks && reconcileAfter !== undefined)
    demand(!isOver, () => `the doubt about ${name} is looked at again after ${looks} looks in vain`)
}

/** Whether anybody can be asked about it: any other is left to people at once. */
export function isAskedAbout({ kind }: StoredEffect): boolean {
  return !unasked.has(kind)
}

const unasked: ReadonlySet<string> = new Set(['receipt.send', 'shipment.mail'])

/** The same of an effect in doubt. */
export function judgeEffectLooks({ before, after }: Change<StoredEffect>, now: number): void {
  if (before?.state !== 'unknown' || after?.state !== 'unknown' || !isAskedAbout(after)) return
  const { id, looks, reconcileAfter } = after
  const isOver = looks >= promised.effectLooks
  if (before.reconcileAfter !== undefined && reconcileAfter === undefined) {
    const isOld = now - (before.doubtedAt ?? now) > promised.doubtMs
    demand(isOver || isOld, () => `the doubt about effect ${id} was left to people after ${looks} looks in vain`)
  }
  if (looks > before.looks && reconcileAfter !== undefined)
    demand(!isOver, () => `the doubt about effect ${id} is looked at again after ${looks} looks in vain`)
}
