import type { KeptTestimony } from '../../src/engine/call-store.js'
import type { StoredEffect } from '../../src/engine/effect-store.js'
import type { StoredRecord } from '../../src/engine/record.js'
import type { SimulatedDatabase } from './database/database.js'
import { type Change, rowChanges } from './invariants/row-changes.js'
import type { Provider } from './provider.js'
import { consequence, type World } from './world/world.js'

/** What happened, for people: each step in words, and behind it what it made of records, effects and what is known of calls. */
export interface Story {
  /** Looks at what the last step has written. */
  note(): void
  lines(): readonly string[]
}

interface StoryContext {
  readonly world: World
  readonly database: SimulatedDatabase
  readonly provider: Provider
}

export function storyOf({ world, database, provider }: StoryContext): Story {
  const { tables } = database
  const takeRecords = rowChanges(tables.records)
  const takeEffects = rowChanges(tables.effects)
  const takeTestimonies = rowChanges(tables.testimonies)
  /** By how many steps had been told by then. */
  const notes = new Map<number, readonly string[]>()
  /** When the world began, by the database's clock: jumps move it as they move everything that is written behind them. */
  const beganAt = world.now()
  const at: At = (time) => (time === undefined ? 'no time' : `${(time - beganAt) / 1_000} s`)

  function changes(): readonly string[] {
    return [
      ...takeRecords().map(({ before, after }) => ofRecord({ before: before?.record, after: after?.record }, at)),
      ...takeEffects().map((change) => ofEffect(change, at)),
      ...takeTestimonies().flatMap(({ after }) => (after === undefined ? [] : [ofTestimony(after)])),
    ]
  }

  /** What each downstream key is for: it is a hash, which tells nobody anything. */
  function namesOfKeys(): ReadonlyMap<string, string> {
    const begun = database.calls().map(({ key, scope, phase }) => [key, `the call ${phase} of ${scope}`] as const)
    const effects = database.effects().map((effect) => [effect.downstreamKey, nameOf(effect)] as const)
    const asked = provider.asks.map(({ key, service, subject }) => [key, `the ${service.name} for ${subject}`] as const)
    return new Map([...begun, ...effects, ...asked])
  }

  return {
    note() {
      const lines = changes()
      const { length } = world.trace
      if (lines.length > 0) notes.set(length, [...(notes.get(length) ?? []), ...lines])
    },
    lines() {
      const names = namesOfKeys()
      const told = world.trace.flatMap((words, index) => [words(), ...(notes.get(index + 1) ?? []).map(behind)])
      return told.map((line) => line.replaceAll(downstreamKeys, (key) => names.get(key) ?? key))
    },
  }
}

const downstreamKeys = /\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/g

function behind(line: string): string {
  return `${consequence}${line}`
}

/** A time of the database, in seconds since the world began. */
type At = (time: number | undefined) => string

function ofRecord({ before, after }: Change<StoredRecord>, at: At): string {
  if (after === undefined) return `${before?.scope}/${before?.key} is gone`
  const { scope, key, generation, fence, attempt } = after
  const said = after.evidence.slice(before?.evidence.length ?? 0).map(({ says, by }) => `; ${by} says: ${says}`)
  const claim = `fence ${fence}, attempt ${attempt}`
  return `${scope}/${key}#${generation} is ${inWords(after, at)} (${claim})${said.join('')}`
}

function inWords(record: StoredRecord, at: At): string {
  const { state, leaseUntil, answer, errorCode, recoveryPoint, isBegun, reconcileAfter, expiresAt } = record
  switch (state) {
    case 'in_progress':
      return `in_progress at ${recoveryPoint}${isBegun ? ', a call begun' : ''}, leased until ${at(leaseUntil)}`
    case 'completed':
      return `completed with ${answer?.status}, kept until ${at(expiresAt)}`
    case 'failed_retryable':
      return `failed_retryable at ${recoveryPoint}${because(errorCode)}`
    case 'unknown':
      return `unknown${because(errorCode)}, ${lookedAt(reconcileAfter, at)}`
    case 'expired':
      return 'expired: a tombstone'
  }
}

function ofEffect({ before, after }: Change<StoredEffect>, at: At): string {
  if (after === undefined) return `${before === undefined ? 'an effect' : nameOf(before)} is gone`
  const { state, fence, started, errorCode, leaseUntil, onLeaseOver, reconcileAfter, dueAt } = after
  const how = {
    ready: `ready, due at ${at(dueAt)}`,
    leased: `leased until ${at(leaseUntil)}${onLeaseOver === 'doubt' ? ', its call begun' : ''}`,
    done: 'done',
    unknown: `unknown${because(errorCode)}, ${lookedAt(reconcileAfter, at)}`,
    dead: `dead${because(errorCode)}`,
    parked: 'parked',
    discarded: 'discarded',
  }[state]
  return `${nameOf(after)} is ${how} (fence ${fence}, claimed ${started} times)`
}

function ofTestimony({ downstreamKey, says, result, by }: KeptTestimony): string {
  return `on record: ${downstreamKey} has ${says === 'landed' ? '' : 'not '}landed, says ${by}${says === 'landed' && result === undefined ? ', and not with what' : ''}`
}

function lookedAt(reconcileAfter: number | undefined, at: At): string {
  return reconcileAfter === undefined ? 'left to a person' : `looked at again at ${at(reconcileAfter)}`
}

function because(errorCode: string | undefined): string {
  return errorCode === undefined ? '' : `: ${errorCode}`
}

function nameOf({ id, kind }: StoredEffect): string {
  return `effect ${id}, ${kind}`
}
