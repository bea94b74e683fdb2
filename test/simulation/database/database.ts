import { hash } from 'node:crypto'
import type { KeptTestimony, StoredCall } from '../../../src/engine/call-store.js'
import type { EffectClaim, StoredEffect } from '../../../src/engine/effect-store.js'
import type { ReceivedEvent } from '../../../src/engine/inbox-store.js'
import type { MarkedCall } from '../../../src/engine/marked-call.js'
import type { SaidTestimony } from '../../../src/engine/reaped-testimony.js'
import type { Claim, RecordName, StoredRecord } from '../../../src/engine/record.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { canonical } from './canonical.js'
import type { Table } from './cells.js'
import { allSeen } from './table.js'

/** What one simulated server holds, and what of it is committed, for whoever judges a run. Nothing that it gives may be changed. */
export interface SimulatedDatabase {
  readonly tables: Tables
  /** What was written under a claim, and over what, for whoever judges: he takes them out. */
  readonly fencedWrites: FencedWrite[]
  /** What is past its time and not over, and what the reaper has come upon all the same: whoever judges takes them out. */
  readonly metByReaper: Unfinished[]
  /** What whoever looked for a key has found, or that somebody else has its lock: whoever judges takes them out. */
  readonly met: (StoredRecord | 'locked')[]
  newId(of: 'record' | 'effect' | 'call' | 'testimony'): number
  newTransactionId(processName: string): string

  records(): readonly StoredRecord[]
  effects(): readonly StoredEffect[]
  calls(): readonly StoredCall[]
  testimonies(): readonly KeptTestimony[]
  events(): readonly StoredEvent[]
  /** The rows of a table of the application. */
  rows(table: string): readonly BusinessRow[]
  /** All of it in short: the same for two states that go on the same. */
  digest(): string
}

export interface Tables {
  readonly records: Table<string, RecordRow>
  readonly effects: Table<number, StoredEffect>
  /** The ids of effects, by what no two of them share. */
  readonly effectKeys: Table<string, number>
  /** By the ids of effects that are not known to be next, the orders that they wait in. */
  readonly waiting: Table<number, string>
  readonly calls: Table<string, MarkedCall>
  readonly testimonies: Table<number, SaidTestimony>
  readonly events: Table<string, StoredEvent>
  readonly rows: Table<string, BusinessRow>
  /** Locks without a row: of keys, for `single`, and of the orders of effects. */
  readonly keyLocks: Table<string, never>
  readonly orderLocks: Table<string, never>
}

/** A write of a claim holder, and the row as it was; one of who asks for a key; or that a holder was not let complete it. */
export type FencedWrite =
  | { readonly of: 'record'; readonly claim: Claim; readonly before: StoredRecord | undefined }
  | { readonly of: 'reservation'; readonly reservation: Reservation; readonly before: StoredRecord | undefined }
  | { readonly of: 'refusal'; readonly claim: Claim; readonly before: StoredRecord | undefined }
  | { readonly of: 'effect'; readonly claim: EffectClaim; readonly before: StoredEffect | undefined }

/** Why a record that is past its time still lives. */
export type Unfinished = 'open effects' | 'half-done'

/** Each write makes another one, so that one that is the same has not been written since. */
export interface RecordRow {
  readonly record: StoredRecord
  /** The transaction that wrote it last, renewals aside. */
  readonly committedIn: string | undefined
  /** The time of this database by which it was judged: when it was written, or read before that. */
  readonly judgedAt: number
}

export interface StoredEvent extends ReceivedEvent {
  readonly processedAt: number
}

export interface BusinessRow {
  readonly table: string
  readonly id: string
  readonly row: unknown
}

export function simulatedDatabase(): SimulatedDatabase {
  const tables: Tables = {
    records: new Map(),
    effects: new Map(),
    effectKeys: new Map(),
    waiting: new Map(),
    calls: new Map(),
    testimonies: new Map(),
    events: new Map(),
    rows: new Map(),
    keyLocks: new Map(),
    orderLocks: new Map(),
  }
  const lastIds = { record: 0, effect: 0, call: 0, testimony: 0 }
  // By process, so that the order in which two of them begin makes no other state.
  const begun = new Map<string, number>()
  return {
    tables,
    fencedWrites: [],
    metByReaper: [],
    met: [],
    newId: (of) => ++lastIds[of],
    newTransactionId(processName) {
      const count = (begun.get(processName) ?? 0) + 1
      begun.set(processName, count)
      return `${processName} ${count}`
    },
    records: () => allSeen(tables.records, undefined).map(({ record }) => record),
    effects: () => allSeen(tables.effects, undefined),
    calls: () => allSeen(tables.calls, undefined).map(({ call }) => call),
    testimonies: () => allSeen(tables.testimonies, undefined),
    events: () => allSeen(tables.events, undefined),
    rows: (table) => allSeen(tables.rows, undefined).filter((row) => row.table === table),
    digest: () => hash('sha256', [...Object.values(tables).map(textOf), canonical(lastIds)].join('\n')).slice(0, 24),
  }
}

/** A scope never holds a line break (it is escaped), so no two names share an address. */
export function addressOf({ scope, key }: RecordName): string {
  return `${scope}\n${key}`
}

function textOf(table: Table<unknown, unknown>): string {
  const lines = [...table].map(([key, { committed, holder, pending }]) =>
    holder === undefined
      ? `${key}=${canonical(committed)}`
      : `${key}=${canonical(committed)} ${holder.id} ${holder.isFailed} ${canonical(pending)}`,
  )
  return lines.sort().join('\n')
}
