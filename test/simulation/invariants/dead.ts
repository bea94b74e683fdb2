import { isFinal, type StoredEffect } from '../../../src/engine/effect-store.js'
import { promised } from '../application.js'
import { subjectIn } from '../effect-kinds.js'
import { Declined, triedMs } from '../moods.js'
import type { Act } from '../provider.js'
import { demand } from '../violation.js'
import { pauseMs } from './patience.js'
import type { Change } from './row-changes.js'

/** For so long an effect is tried of which the application says nothing else. */
const usuallyMs = 3 * 24 * 3_600_000

/** What is declined is left to people at once, anything else when its time is over. */
export function judgeDead({ before, after }: Change<StoredEffect>, now: number): void {
  const name = `effect ${before?.id}`
  const isDeclined = after?.errorCode === Declined.name
  if (isDeclined) demand(after.state === 'dead', () => `${name} was declined, and is ${after.state}`)
  if (after?.state !== 'dead' || isDeclined) return
  const isOver = after.errorCode === 'poison' ? endsWorkers(before) : isOld(after, now)
  demand(isOver, () => `${name} was left to people too early, as ${after.errorCode}`)
}

function endsWorkers(effect: StoredEffect | undefined): boolean {
  return effect !== undefined && effect.started - 1 - effect.finished >= promised.deaths
}

function isOld({ createdAt, finished, kind }: StoredEffect, now: number): boolean {
  return now - createdAt + pauseMs(finished) >= (kind === 'shipment.urge' ? triedMs : usuallyMs)
}

/** At the end what is left to people has not happened, unless they can see that it has, or whoever did it has denied it. */
export function judgeLeftDead({ id, state, downstreamKey, result }: StoredEffect, ledger: readonly Act[]): void {
  if (state !== 'dead' || result !== undefined) return
  const isDone = ledger.some(({ key, isDenied }) => key === downstreamKey && isDenied !== true)
  demand(!isDone, () => `effect ${id} was left to people, and has landed`)
}

/** Whether nothing more will happen to it by itself: behind one of its order that is left to people it waits for them, too. */
export function isAtRest(effect: StoredEffect, all: readonly StoredEffect[]): boolean {
  return isFinal(effect.state) || effect.state === 'dead' || isBehindDead(effect, all)
}

function isBehindDead({ scope, order, id }: StoredEffect, all: readonly StoredEffect[]): boolean {
  if (order === undefined) return false
  return all.some((one) => one.state === 'dead' && one.id < id && one.scope === scope && one.order === order)
}

/** Whether what this request asked for is left to people, or waits behind what is. */
export function isLeftOver(subject: string, all: readonly StoredEffect[]): boolean {
  return all.some((effect) => subjectIn(effect) === subject && !isFinal(effect.state))
}
