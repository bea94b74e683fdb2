import { changedRecord } from '../../../src/engine/changed.js'
import { lastWrite } from '../../../src/engine/last-write.js'
import type { Claim } from '../../../src/engine/record.js'
import type { Committed, Completed, Step } from '../../../src/engine/store.js'
import type { Written } from '../../../src/stores/postgres/arguments.js'
import { type PhaseStatements, phase } from '../../../src/stores/postgres/phase.js'
import { marking } from './call-deeds.js'
import type { Transaction } from './cells.js'
import { inOneTransaction } from './committing.js'
import { ownWrite } from './copies.js'
import { addressOf, type RecordRow } from './database.js'
import { fencedOn } from './fenced.js'
import type { Line } from './line.js'
import { inserting } from './outbox-deeds.js'
import { named } from './record-table.js'
import type { SimulatedTx } from './simulated-tx.js'
import { holderOf, seen } from './table.js'
import { type Deed, update } from './update.js'

/** A phase, by deeds of the simulated database: its record and its effects are written by one. */
export function inTransaction<T>(
  line: Line,
  claim: Claim,
  body: (tx: SimulatedTx) => Promise<Step<T>>,
): Promise<Committed<T>> {
  const subject = () => named(claim)
  return inOneTransaction(line, subject, (open) => {
    const { transaction } = open
    const statements: PhaseStatements = {
      write(claim, step) {
        const words = () => `writes ${subject()} and its effects`
        return line.say(transaction, words, fencedWrite(line, claim, step, transaction))
      },
      lastWritten: (claim) => lastWritten(line, claim),
    }
    return phase(open, statements, claim, body)
  })
}

/** What stands there under this claim, once nobody has the key. */
export function lastWritten(line: Line, claim: Claim): Promise<RecordRow | undefined> {
  const { records, keyLocks } = line.database.tables
  const address = addressOf(claim)
  const looking: Deed<RecordRow | undefined> = {
    waitsFor: () => holderOf(keyLocks, address, undefined) ?? holderOf(records, address, undefined),
    run() {
      const row = seen(records, address, undefined)
      return row?.record.claimId === claim.claimId ? row : undefined
    },
  }
  return line.ask(() => `looks what became of ${named(claim)}`, looking, 'read')
}

function fencedWrite(
  line: Line,
  claim: Claim,
  step: Step<unknown>,
  by: Transaction,
): Deed<(Completed & Written) | undefined> {
  const write = ownWrite(step.write)
  const { effects = [] } = step
  const updating = update<string, RecordRow>(line.database.tables.records, addressOf(claim), by, ({ record }) => {
    const next = lastWrite(record, claim, write, line.now())
    const hasEffects = record.hasEffects || effects.length > 0
    return next && { record: changedRecord(next, { hasEffects }), committedIn: by.id, judgedAt: line.now() }
  })
  const mark = marking(line, write.kind === 'checkpoint' ? write.call : undefined, by)
  const outbox = inserting(line, claim.scope, effects, by)
  return fencedOn(line, claim, by, {
    waitsFor: () => updating.waitsFor() ?? outbox.waitsFor() ?? mark.waitsFor(),
    run() {
      const row = updating.run()
      if (row === undefined) return undefined
      outbox.run(row.record)
      mark.run(row.record)
      return { expiresAt: row.record.expiresAt, committedIn: by.id }
    },
  })
}
