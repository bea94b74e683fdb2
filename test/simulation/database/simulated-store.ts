import type { CallStore } from '../../../src/engine/call-store.js'
import { copyOfRecord } from '../../../src/engine/copies.js'
import type { EffectStore } from '../../../src/engine/effect-store.js'
import type { InboxStore } from '../../../src/engine/inbox-store.js'
import type { RecordName, StoredRecord } from '../../../src/engine/record.js'
import type { DatabaseStore, Store } from '../../../src/engine/store.js'
import { batchingTable } from '../../../src/stores/postgres/batching-table.js'
import type { LaneOptions } from '../../../src/stores/postgres/lanes.js'
import { postgresSteps } from '../../../src/stores/postgres/steps.js'
import type { Ports } from '../world/port-call.js'
import type { Process } from '../world/process.js'
import { simulatedCalls } from './calls.js'
import { committed } from './committing.js'
import { copyOfVerdict, ownCompletion, ownReservation, ownSettlement, withOwnProgress } from './copies.js'
import type { SimulatedDatabase } from './database.js'
import { simulatedEffects } from './effects.js'
import { simulatedInbox } from './inbox.js'
import { lineOf } from './line.js'
import { inTransaction } from './phase.js'
import { simulatedRecordTable } from './record-table.js'
import { simulatedBatches, type WhenShared } from './shared-statements.js'
import { type SimulatedTx, simulatedTx } from './simulated-tx.js'
import { singleOn } from './single.js'
import { rollBack } from './transaction.js'

export interface SimulatedStore extends DatabaseStore<SimulatedTx> {
  readonly single: NonNullable<Store<SimulatedTx>['single']>
  readonly calls: CallStore
  readonly effects: EffectStore<SimulatedTx>
  readonly inbox: InboxStore<SimulatedTx>
  /** A transaction that the application opens and ends itself, for `single` to join. */
  begin(): OwnTransaction
}

export interface OwnTransaction {
  readonly tx: SimulatedTx
  commit(): Promise<void>
  rollBack(): void
}

/**
 * One node's view of a simulated PostgreSQL: every statement is a call that the world decides about. The steps are those of
 * the PostgreSQL store, on tables that wait, lock and undo as its server does.
 */
export function simulatedStore(
  database: SimulatedDatabase,
  ports: Ports,
  process: Process,
  batching: 'off' | (LaneOptions & WhenShared) = 'off',
): SimulatedStore {
  const line = lineOf(database, ports, process)
  const table = simulatedRecordTable(line)
  const steps = postgresSteps(
    batching === 'off' ? table : batchingTable(table, simulatedBatches(line, batching), batching),
  )
  // Member by member: a world makes thousands of these in a second, and a spread costs more than all the rest.
  return {
    name: 'simulated',
    grade: 'transactional',
    async open() {},
    async close() {},
    reserve: (reservation) => steps.reserve(ownReservation(reservation)).then(copyOfVerdict),
    renew: steps.renew,
    checkpoint: (claim, step) => steps.checkpoint(claim, withOwnProgress(step)),
    complete: (claim, completion) => steps.complete(claim, ownCompletion(completion)),
    release: steps.release,
    fail: steps.fail,
    doubt: steps.doubt,
    settle: (name, settlement) => steps.settle(nameOf(name), ownSettlement(settlement)),
    sweep: async (limit) => (await steps.sweep(limit)).map(copyOfRecord),
    abandon: async (query) => (await steps.abandon(query)).map(copyOfRecord),
    interrupted: async (query) => (await steps.interrupted(query)).map(copyOfRecord),
    doubts: async (query) => (await steps.doubts(query)).map(copyOfRecord),
    postpone: (name, plan) => steps.postpone(nameOf(name), plan),
    reap: steps.reap,
    find: (name) => steps.find(name).then(copyOfFound),
    async list(query) {
      const { records, next } = await steps.list(query)
      return { records: records.map(copyOfRecord), next }
    },
    usage: steps.usage,
    tenants: steps.tenants,
    transaction: (claim, body) => inTransaction(line, claim, body),
    single: (reservation, body, joins) => singleOn(line, ownReservation(reservation), body, joins),
    calls: simulatedCalls(line),
    effects: simulatedEffects(line),
    inbox: simulatedInbox(line),
    begin() {
      const transaction = line.begin()
      return {
        tx: simulatedTx(line, transaction),
        commit: () => committed(line, transaction, () => 'its own transaction'),
        rollBack: () => rollBack(transaction),
      }
    },
  }
}

function copyOfFound(record: StoredRecord | undefined): StoredRecord | undefined {
  return record && copyOfRecord(record)
}

/** Whoever says what became of a record holds no claim on it, even if he names it by one. */
function nameOf({ scope, key }: RecordName): RecordName {
  return { scope, key }
}
