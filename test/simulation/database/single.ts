import { changedRecord } from '../../../src/engine/changed.js'
import type { SingleAttempt, SingleOutcome, SingleStep } from '../../../src/engine/store.js'
import * as transitions from '../../../src/engine/transitions.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { HapaxError, invariant, isHapaxError } from '../../../src/kernel/errors.js'
import { postgresBounds } from '../../../src/kernel/limits.js'
import { isTakenKey } from '../../../src/stores/postgres/faults.js'
import type { Closing, Ending } from '../../../src/stores/postgres/in-one-commit.js'
import { inOneTransaction, type Open } from './committing.js'
import { copyOfVerdict, ownCompletion } from './copies.js'
import { addressOf, type RecordRow } from './database.js'
import { inJoined } from './joined.js'
import type { Line } from './line.js'
import { inserting } from './outbox-deeds.js'
import { isCommitted, lastWritten } from './phase.js'
import { recordDeeds } from './record-deeds.js'
import { named } from './record-table.js'
import type { SimulatedTx } from './simulated-tx.js'
import { held, holderOf } from './table.js'
import type { Deed } from './update.js'

/**
 * One request as one transaction. The key's lock is taken without waiting and lasts as long as the transaction; whoever
 * reserves the key in the usual way is found when the record is written, and then all of it rolls back. Lock and record are
 * asked for in one go, and a new record that has no effects is written by what travels with COMMIT.
 */
export async function single<T>(
  line: Line,
  reservation: Reservation,
  body: (at: SingleAttempt<SimulatedTx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  const subject = () => named(reservation)
  try {
    if (joins === undefined) return await inOneTransaction(line, subject, run)
    return await inJoined(joins, async (open) => written(await run(open)))
  } catch (error) {
    throw isTakenKey(isHapaxError(error) ? error.cause : error) ? new HapaxError('claim_lost') : error
  }

  async function run({ transaction, undoable, lastly }: Running): Promise<Ended<T>> {
    const deeds = recordDeeds(line, transaction)
    const taking = {
      run() {
        const { keyLocks } = line.database.tables
        const address = addressOf(reservation)
        if (holderOf(keyLocks, address, transaction) !== undefined) return false
        held(keyLocks, address, transaction)
        return true
      },
    }
    const [isTaken, found] = await Promise.all([
      line.say(transaction, () => `tries to lock ${subject()}`, taking),
      line.say(transaction, () => `reads ${subject()}`, deeds.find(reservation)),
    ])
    const { verdict, next } = transitions.reserve(
      found?.record,
      reservation,
      found?.now ?? line.now(),
      () => unnumbered,
    )
    if (!isTaken && (verdict.kind === 'new' || 'claim' in verdict)) return { value: { kind: 'judged', verdict: busy } }
    if (!('claim' in verdict)) {
      if (isTaken && found !== undefined && next !== undefined)
        await line.say(
          transaction,
          () => `writes ${named(next)} as ${next.state}`,
          deeds.write(found, () => next),
        )
      return { value: { kind: 'judged', verdict: copyOfVerdict(verdict) as typeof verdict } }
    }

    const { claim, record } = verdict
    const { record: own } = copyOfVerdict(verdict) as typeof verdict
    const step = await undoable(
      (tx) => body({ tx, claim, record: own }),
      ({ rows }) => rows === 'undo',
    )
    const { value, rows } = step
    const completion = ownCompletion(step.completion)
    const effects = rows === 'keep' ? (step.effects ?? []) : []
    const completed = (id: number) => {
      const last = transitions.complete(changedRecord(record, { id }), claim, completion, line.now())
      invariant(last, 'whoever has taken a record may complete it')
      return changedRecord(last, { hasEffects: last.hasEffects || effects.length > 0 })
    }
    const committed = ({ record }: RecordRow) => ({ kind: 'committed', value, expiresAt: record.expiresAt }) as const
    const creating = deeds.create(claim, () => completed(line.database.newId('record')))
    if (found === undefined && effects.length === 0 && lastly !== undefined) return closing(creating)

    const writing = found === undefined ? creating : deeds.write(found, () => completed(record.id))
    const outbox = inserting(line, claim.scope, effects, transaction)
    const written = await line.say(transaction, () => `writes ${subject()} and its effects`, {
      waitsFor: () => writing.waitsFor() ?? outbox.waitsFor(),
      run() {
        const row = writing.run()
        if (row !== undefined) outbox.run(row.record)
        return row
      },
    })
    if (written === undefined) throw new HapaxError('claim_lost')
    return { value: committed(written), isCommitted: () => isCommitted(line, claim, transaction) }

    function closing({ waitsFor, run }: Deed<RecordRow>): Closing<SingleOutcome<T>> {
      let row: RecordRow | undefined
      const creation = {
        waitsFor,
        run() {
          row = run()
        },
      }
      return {
        last: lastly?.(creation) ?? [],
        comesTo() {
          invariant(row, 'what has committed was written')
          return committed(row)
        },
        async found() {
          const row = await lastWritten(line, claim)
          return row?.record.state === 'completed' ? { value: committed(row) } : undefined
        },
      }
    }
  }
}

/** Where the caller commits, nothing travels with it. */
type Running = Pick<Open, 'transaction' | 'undoable'> & Partial<Pick<Open, 'lastly'>>

type Ended<T> = Ending<SingleOutcome<T>> | Closing<SingleOutcome<T>>

function written<T>(ended: Ended<T>): SingleOutcome<T> {
  invariant('value' in ended, 'whoever has joined has written')
  return ended.value
}

/** A new record has no id before it is written. */
const unnumbered = 0

/** Another transaction has the key. */
const busy = { kind: 'in_progress', leaseLeftMs: postgresBounds.singleLeftMs } as const
