import type { StoredRecord } from '../../src/engine/record.js'
import type { Order, Program } from './application.js'
import { isFinal, type Told } from './client.js'
import type { SimulatedDatabase } from './database/database.js'
import { judgeAct } from './invariants/acts.js'
import { isAnswer, judgeHeard, judgeSent } from './invariants/answers.js'
import { isSettled, judgeEnd } from './invariants/ends.js'
import { judgeChange, recordChanges } from './invariants/records.js'
import type { Provider } from './provider.js'
import { demand } from './violation.js'
import type { World } from './world/world.js'

/** What must hold, at every step and at the end. Each throws a Violation that says what does not. */
export interface Invariants {
  step(): void
  /** A node begins to send this. */
  sending(program: Program, order: Order, reply: { readonly status: number; readonly body: string }): void
  /** Whether workers and providers have nothing left to do. */
  isSettled(): boolean
  /** Everything has had its time, and something is not settled. */
  stuck(): never
  end(): void
}

interface Judged {
  readonly world: World
  readonly database: SimulatedDatabase
  readonly provider: Provider
  readonly heard: readonly Told[]
}

export function invariants({ world, database, provider, heard }: Judged): Invariants {
  const takeChanges = recordChanges(database)
  let acts = 0
  let told = 0

  const recordOf = ({ tenant, key }: Order): StoredRecord | undefined => {
    for (const record of database.records()) if (record.scope === tenant && record.key === key) return record
    return undefined
  }
  const openEffects = (recordId: number | undefined): number => {
    let open = 0
    for (const { recordId: of, state } of database.effects())
      if (of === recordId && state !== 'done' && state !== 'discarded') open++
    return open
  }

  return {
    step() {
      for (const change of takeChanges()) judgeChange(change, world.now(), openEffects(change.before?.id))
      for (; acts < provider.ledger.length; acts++) {
        const act = provider.ledger[acts]
        if (act !== undefined) judgeAct(act, provider.ledger.slice(0, acts), () => database.effects())
      }
      for (; told < heard.length; told++) {
        const now = heard[told]
        const generationOf = (order: Order) => recordOf(order)?.generation ?? 1
        if (now !== undefined) judgeHeard(now, heard.slice(0, told), generationOf)
      }
    },
    sending(_, order, { status, body }) {
      if (isAnswer(status)) judgeSent(order, status, body, recordOf(order))
    },
    isSettled() {
      for (const record of database.records()) if (!isSettled(record)) return false
      for (const { state } of database.effects()) if (state !== 'done' && state !== 'dead') return false
      return true
    },
    stuck() {
      const open = [...database.records()].filter((record) => !isSettled(record))
      const effects = [...database.effects()].filter(({ state }) => state !== 'done')
      const words = [
        ...open.map(({ key, state, errorCode }) => `${key} is ${state} (${errorCode})`),
        ...effects.map(({ kind, state, errorCode }) => `an effect ${kind} is ${state} (${errorCode})`),
      ]
      demand(false, () => `after days something is stuck: ${words.join(', ')}`)
      throw new Error('unreachable')
    },
    end() {
      const ledger = provider.ledger
      const hasRow = (table: string, id: string) => database.rows(table).some((row) => row.id === id)
      for (const record of database.records()) judgeEnd(record.operation as Program, record, { ledger, hasRow })
      for (const { id } of ledger) {
        const times = database.rows('events').filter((row) => row.id.startsWith(`${id} at `)).length
        demand(times <= 1, () => `the event of ${id} was worked on ${times} times`)
      }
      for (const { client, order, reply } of heard) {
        if (!client.endsWith('again') || reply === 'lost') continue
        const isUnknown = recordOf(order)?.state === 'unknown'
        demand(isFinal(reply.status) || isUnknown, () => `${order.key} ended in ${reply.status}`)
      }
    },
  }
}
