import type { KeptTestimony } from '../../../src/engine/call-store.js'
import type { StoredEffect } from '../../../src/engine/effect-store.js'
import { services } from '../application.js'
import type { Ask } from '../provider.js'
import { demand } from '../violation.js'
import type { Process } from '../world/process.js'
import type { Task } from '../world/task.js'
import type { Change } from './row-changes.js'

/** What a doubt about an effect ends by is on record before that: whoever looks later finds out why. */
export function judgeResolved({ before, after }: Change<StoredEffect>, said: readonly KeptTestimony[]): void {
  if (before?.state !== 'unknown' || after?.state !== 'ready') return
  const as = after.result === before.result ? 'not_landed' : 'landed'
  const isSaid = said.some(({ downstreamKey, says }) => downstreamKey === before.downstreamKey && says === as)
  demand(isSaid, () => `the doubt about effect ${before.id} ended as ${as}, and nobody has said so on record`)
}

/** That something landed is true whatever anybody says later, who looks when it is on record: it was not done by nobody. */
export function judgeBelieved(name: string, key: string, task: Task | undefined, landed: Landed): void {
  const knownAfter = landed.get(key) ?? Number.POSITIVE_INFINITY
  const isKnown = task !== undefined && knownAfter < task.begunAfter
  demand(!isKnown, () => `the doubt about ${name} ended as not landed, and it was on record that it has`)
}

/** What a process that lives has heard of its provider is not left to people. */
export function judgeHeardOf(key: string, toldLanded: ReadonlyMap<string, Process>): void {
  const process = toldLanded.get(key)
  const name = process?.name
  demand(
    process?.isAlive !== true,
    () => `a doubt about ${key} was left to people, although ${name} has heard that it landed`,
  )
}

/** By downstream key, since when it is on record that it has landed. */
export type Landed = ReadonlyMap<string, number>

export function noteLanded(said: readonly KeptTestimony[], landed: Map<string, number>, now: () => number): void {
  for (const { downstreamKey, says } of said)
    if (says === 'landed' && !landed.has(downstreamKey)) landed.set(downstreamKey, now())
}

/** Whoever makes his calls by himself asks as he likes, and so does who may ask again under the key as long as it is honoured. */
const asIsLiked: ReadonlySet<string> = new Set([services.deposit.name, services.receipt.name])

/** Whoever begins when it is on record that something has landed does not ask for it again. */
export function judgeTold({ service, key, subject }: Ask, task: Task | undefined, landed: Landed): void {
  if (asIsLiked.has(service.name)) return
  const knownAfter = landed.get(key) ?? Number.POSITIVE_INFINITY
  const isKnown = task !== undefined && knownAfter < task.begunAfter
  demand(!isKnown, () => `a ${service.name} for ${subject} was asked for when it was on record that it has landed`)
}
