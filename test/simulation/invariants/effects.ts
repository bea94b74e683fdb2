import { isFinal, type StoredEffect } from '../../../src/engine/effect-store.js'
import { promised } from '../application.js'
import { demand } from '../violation.js'
import type { Change } from './row-changes.js'

/** Every way from one state of an effect to another, written down a second time. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  none: ['ready'],
  ready: ['ready', 'leased'],
  leased: ['leased', 'ready', 'done', 'dead', 'unknown'],
  unknown: ['unknown', 'ready', 'done', 'dead'],
  dead: ['ready', 'discarded', 'done'],
  done: ['done', 'none'],
  discarded: ['none'],
}

/** Nobody takes an effect from a worker that lives, nothing that is open is deleted, and what was done stays done. */
export function judgeEffect({ before, after }: Change<StoredEffect>, now: number): void {
  const [from, to] = [before?.state ?? 'none', after?.state ?? 'none']
  const name = `effect ${(before ?? after)?.id}`
  demand(allowed[from]?.includes(to) ?? false, () => `${name} went from ${from} to ${to}`)
  if (before === undefined) return
  // What is written down of its call, and by whom it is held, does not make it any longer.
  if (after?.state === 'leased' && after.result === before.result) judgeLease(after, now, name)
  if (after === undefined) {
    demand(isFinal(before.state), () => `${name} was deleted while it was ${from}`)
    return
  }
  demand(after.fence >= before.fence, () => `the fence of ${name} fell`)
  if (after.started > before.started)
    demand(after.fence > before.fence, () => `${name} was claimed again under its old fence`)
  if (from === 'leased' && after.fence > before.fence)
    demand((before.leaseUntil ?? 0) <= now, () => `${name} was taken from a worker that lives`)
}

/** Whoever claims an effect, begins with its call or renews its lease has it for as long as he was promised. */
function judgeLease({ leaseUntil = 0 }: StoredEffect, now: number, name: string): void {
  demand(leaseUntil >= now + promised.leaseMs, () => `${name} is leased for ${leaseUntil - now} ms only`)
}

/** It was found out that it had not landed. */
export function isNotLanded({ before, after }: Change<StoredEffect>): boolean {
  return before?.state === 'unknown' && after?.state === 'ready' && after.result === undefined
}
