import type { StoredRecord } from '../../../src/engine/record.js'
import type { StoredEvent } from '../database/database.js'
import { judgeBounds, judgeEffectLooks } from './bounds.js'
import { judgeDead } from './dead.js'
import { judgeDoubt, judgeSwept } from './doubts.js'
import { isNotLanded, judgeEffect } from './effects.js'
import { judgeBelieved, judgeResolved, noteLanded } from './evidence.js'
import { judgeFence } from './fences.js'
import { judgeHolder } from './holders.js'
import type { Judged } from './judged.js'
import type { Memory } from './memory.js'
import { isOvertaken, judgeChange, nameOf, type RecordChange, recordChanges } from './records.js'
import { noteChange, noteMet } from './refusals.js'
import { rowChanges } from './row-changes.js'
import { judgeEvent, judgeWork } from './webhooks.js'

/** Judges what was written since it looked last, and puts it down to whose task that was. */
export function rowsJudged(
  { world, database, provider, work, reached, atAnyTime }: Judged,
  memory: Memory,
): () => void {
  const { away, found, given, kept, landed, lives, notLanded, overtaken } = memory
  const takeRecords = recordChanges(database, () => world.now())
  const takeEffects = rowChanges(database.tables.effects)
  const takeEvents = rowChanges(database.tables.events)
  /** How much had been written when the rows were last looked at: nothing else changes them. */
  let looked = 0

  function ofRecord(change: RecordChange): void {
    const { fencedWrites } = database
    const isHolders = () => fencedWrites.some((write) => write.of === 'record' && write.before === change.before)
    // Whoever hears nothing asks again for what he holds.
    const isAskedAgain = () =>
      fencedWrites.some(
        (write) =>
          write.of === 'reservation' &&
          write.before === change.before &&
          write.reservation.claimId === change.before?.claimId,
      )
    judgeChange(change, {
      now: change.at,
      keptSince: () => kept.since(nameOf(change)),
      openEffects: () => openEffects(change.before),
      isHolders,
    })
    if (work === 'shared') judgeHolder(change, () => isHolders() || isAskedAgain())
    if (world.isTimely) judgeDoubt(change, provider.asks)
    judgeSwept(change)
    judgeBounds(change)
    // A duplicate that waits asks several times: what is on its way since the first cannot be called back, only given back.
    if (!world.isAdrift) ofOneWhoWaits(change)
    reached()?.record(change)
    atAnyTime.givenUp(change)
    lives.note(change)
    kept.note(change)
    if (isOvertaken(change)) overtaken.push({ record: change.before, at: world.noted++ })
    const { task } = world
    const key = landed.size > 0 && isFoundNotLanded(change) ? keyOfCall(change.after) : undefined
    if (key !== undefined) judgeBelieved(nameOf(change), key, task, landed)
    if (task !== undefined) noteChange(task, change, { now: world.now(), isAdrift: world.isAdrift, found })
  }

  function ofOneWhoWaits(change: RecordChange): void {
    const { before, after } = change
    away.judge(change)
    if (after !== undefined && after.claimId !== before?.claimId) given.set(after.claimId, after.generation)
  }

  function ofEffect(change: ReturnType<typeof takeEffects>[number]): void {
    judgeEffect(change, world.now())
    judgeDead(change, world.now())
    judgeEffectLooks(change, world.now())
    judgeResolved(change, database.testimonies())
    reached()?.effect(change)
    atAnyTime.effectLeft(change)
    const key = change.before?.downstreamKey
    if (key === undefined) return
    if (landed.has(key) && change.after?.state === 'unknown' && !isSaidWithWhat(key))
      reached()?.note('an effect that landed, and nobody said with what')
    if (!isNotLanded(change)) return
    notLanded.set(key, (notLanded.get(key) ?? 0) + 1)
    judgeBelieved(`effect ${change.before?.id}`, key, world.task, landed)
  }

  function isSaidWithWhat(key: string): boolean {
    return database.testimonies().some(({ downstreamKey, result }) => downstreamKey === key && result !== undefined)
  }

  /** The call that was in doubt. */
  function keyOfCall({ id, generation }: StoredRecord): string | undefined {
    for (const { committed: kept } of database.tables.calls.values())
      if (kept?.recordId === id && kept.call.generation === generation && kept.call.state === 'not_landed')
        return kept.call.key
    return undefined
  }

  function ofEvent(event: StoredEvent): void {
    judgeWork(provider.ledger, database.rows('events'))
    judgeEvent(event, provider.ledger, database.testimonies())
  }

  /** Of its generation: one that is used anew may have written its own by now. */
  function openEffects(record: StoredRecord | undefined): number {
    let open = 0
    for (const { recordId, generation, state } of database.effects())
      if (recordId === record?.id && generation <= record.generation && state !== 'done' && state !== 'discarded')
        open++
    return open
  }

  function lookAtChanges(): void {
    looked = world.writes
    for (const change of takeRecords()) ofRecord(change)
    for (const change of takeEffects()) ofEffect(change)
    if (database.tables.testimonies.size > 0) noteLanded(database.testimonies(), landed, () => world.noted++)
    if (database.tables.events.size === 0) return
    for (const { after } of takeEvents()) if (after !== undefined) ofEvent(after)
  }

  return () => {
    if (looked !== world.writes) lookAtChanges()
    if (database.met.length > 0) for (const met of database.met.splice(0)) noteMet(world.task, met, world.now())
    if (database.metByReaper.length > 0) for (const met of database.metByReaper.splice(0)) reached()?.reaper(met)
    if (database.fencedWrites.length === 0) return
    for (const write of database.fencedWrites.splice(0)) judgeFence(write)
  }
}

/** Somebody has said that the call that was in doubt had not landed, and was believed. */
function isFoundNotLanded(change: RecordChange): change is RecordChange & { readonly after: StoredRecord } {
  const { before, after } = change
  if (before?.state !== 'unknown' || after?.state !== 'failed_retryable') return false
  return after.evidence.length > before.evidence.length && after.evidence.at(-1)?.says === 'not_landed'
}
