import { changedRecord } from '../../../src/engine/changed.js'
import { copyOfRecord } from '../../../src/engine/copies.js'
import type { StoredRecord } from '../../../src/engine/record.js'
import type { SingleAttempt, SingleOutcome, SingleStep } from '../../../src/engine/store.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { invariant } from '../../../src/kernel/errors.js'
import { inJoined } from '../../../src/stores/postgres/single/joined.js'
import type { OpenSingle, SingleTransactions } from '../../../src/stores/postgres/single/open-single.js'
import { single } from '../../../src/stores/postgres/single/single.js'
import { askedDeed } from './asked-deed.js'
import type { Transaction } from './cells.js'
import { inOneTransaction, type Open } from './committing.js'
import { copyOfOutcome, ownSingleStep } from './copies.js'
import { addressOf, type RecordRow } from './database.js'
import { joiningOf } from './joined.js'
import type { Line } from './line.js'
import { inserting } from './outbox-deeds.js'
import { lastWritten } from './phase.js'
import { recordDeeds } from './record-deeds.js'
import { named } from './record-table.js'
import type { SimulatedTx } from './simulated-tx.js'
import { held, holderOf } from './table.js'
import type { Deed } from './update.js'

/** One request as one transaction, by deeds of the simulated database. */
export async function singleOn<T>(
  line: Line,
  reservation: Reservation,
  body: (at: SingleAttempt<SimulatedTx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  const copied = async ({ tx, claim, record }: SingleAttempt<SimulatedTx>) =>
    ownSingleStep(await body({ tx, claim, record: copyOfRecord(record) }))
  return copyOfOutcome(await single(transactionsFor(line, reservation), reservation, copied, joins))
}

function transactionsFor(line: Line, reservation: Reservation): SingleTransactions<SimulatedTx> {
  const subject = () => named(reservation)
  return {
    committing: (run) =>
      inOneTransaction(line, subject, async (open) => run(await opened(line, reservation, open.transaction, open))),
    joining(given, run) {
      const tx = given as SimulatedTx
      return inJoined(joiningOf(line, tx), async (open) => run(await opened(line, reservation, tx.transaction, open)))
    },
  }
}

/** Lock and record are asked for in one go. */
async function opened(
  line: Line,
  reservation: Reservation,
  transaction: Transaction,
  { query, undoable }: Pick<Open, 'query' | 'undoable'>,
): Promise<OpenSingle<SimulatedTx>> {
  const subject = () => named(reservation)
  const words = () => `writes ${subject()} and its effects`
  const deeds = recordDeeds(line, transaction)
  const [isTaken, found] = await Promise.all([
    line.say(transaction, () => `tries to lock ${subject()}`, taking(line, reservation, transaction)),
    line.say(transaction, () => `reads ${subject()}`, deeds.find(reservation)),
  ])
  const writtenIn = ({ record }: RecordRow) => ({ expiresAt: record.expiresAt, committedIn: transaction.id })
  const creating = (completed: () => StoredRecord) =>
    deeds.create(reservation, () => changedRecord(completed(), { id: line.database.newId('record') }))

  return {
    isTaken,
    found,
    now: line.now(),
    query,
    undoable,
    write: (found, next) =>
      line.say(
        transaction,
        () => `writes ${named(next)} as ${next.state}`,
        deeds.write(found, () => next),
      ),
    creation(completedAt) {
      const { waitsFor, run } = creating(() => completedAt(line.now()))
      let row: RecordRow | undefined
      const statement = {
        waitsFor,
        run() {
          row = run()
        },
      }
      return {
        last: [askedDeed(words, statement)],
        comesTo() {
          invariant(row, 'what has committed was written')
          return writtenIn(row)
        },
      }
    },
    complete(claim, completedAt, effects) {
      const completed = () => {
        const record = completedAt(line.now())
        return changedRecord(record, { hasEffects: record.hasEffects || effects.length > 0 })
      }
      const writing: Deed<RecordRow | undefined> =
        found === undefined ? creating(completed) : deeds.write(found, completed)
      const outbox = inserting(line, claim.scope, effects, transaction)
      return line.say(transaction, words, {
        waitsFor: () => writing.waitsFor() ?? outbox.waitsFor(),
        run() {
          const row = writing.run()
          if (row === undefined) return undefined
          outbox.run(row.record)
          return writtenIn(row)
        },
      })
    },
    lastWritten: (claim) => lastWritten(line, claim),
  }
}

/** The key's lock for the rest of the transaction, if it is free. */
function taking(line: Line, reservation: Reservation, by: Transaction) {
  const { tables, met } = line.database
  const { keyLocks } = tables
  const address = addressOf(reservation)
  return {
    run() {
      if (holderOf(keyLocks, address, by) !== undefined) {
        met.push('locked')
        return false
      }
      held(keyLocks, address, by)
      return true
    },
  }
}
