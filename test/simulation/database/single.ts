import type { SingleAttempt, SingleOutcome, SingleStep } from '../../../src/engine/store.js'
import * as transitions from '../../../src/engine/transitions.js'
import type { Reservation } from '../../../src/engine/verdict.js'
import { HapaxError, invariant } from '../../../src/kernel/errors.js'
import { postgresBounds } from '../../../src/kernel/limits.js'
import type { Ending } from '../../../src/stores/postgres/in-one-commit.js'
import { inOneTransaction, type Open } from './committing.js'
import { copyOfVerdict, ownCompletion } from './copies.js'
import { addressOf } from './database.js'
import { inJoined } from './joined.js'
import type { Line } from './line.js'
import { inserting } from './outbox-deeds.js'
import { isCommitted } from './phase.js'
import { recordDeeds } from './record-deeds.js'
import { named } from './record-table.js'
import type { SimulatedTx } from './simulated-tx.js'
import { held, holderOf } from './table.js'

/**
 * One request as one transaction. The key's lock is taken without waiting and lasts as long as the transaction; whoever
 * reserves the key in the usual way is found when the record is written, and then all of it rolls back.
 */
export async function single<T>(
  line: Line,
  reservation: Reservation,
  body: (at: SingleAttempt<SimulatedTx>) => Promise<SingleStep<T>>,
  joins?: unknown,
): Promise<SingleOutcome<T>> {
  if (joins !== undefined) return (await inJoined(joins, run)).value
  return inOneTransaction(line, () => named(reservation), run)

  async function run({ transaction, undoable }: Open): Promise<Ending<SingleOutcome<T>>> {
    const deeds = recordDeeds(line, transaction)
    const isTaken = await line.say(transaction, () => `tries to lock ${named(reservation)}`, {
      run() {
        const { keyLocks } = line.database.tables
        const address = addressOf(reservation)
        if (holderOf(keyLocks, address, transaction) !== undefined) return false
        held(keyLocks, address, transaction)
        return true
      },
    })
    const found = await line.say(transaction, () => `reads ${named(reservation)}`, deeds.find(reservation))
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
      const last = transitions.complete({ ...record, id }, claim, completion, line.now())
      invariant(last, 'whoever has taken a record may complete it')
      return { ...last, hasEffects: last.hasEffects || effects.length > 0 }
    }
    const writing =
      found === undefined
        ? deeds.create(claim, () => completed(line.database.newId('record')))
        : deeds.write(found, () => completed(record.id))
    const outbox = inserting(line, claim.scope, effects, transaction)
    const written = await line.say(transaction, () => `writes ${named(reservation)} and its effects`, {
      waitsFor: () => writing.waitsFor() ?? outbox.waitsFor(),
      run() {
        const row = writing.run()
        if (row !== undefined) outbox.run(row.record)
        return row
      },
    })
    if (written === undefined) throw new HapaxError('claim_lost')
    const { expiresAt } = written.record
    return {
      value: { kind: 'committed', value, expiresAt },
      isCommitted: () => isCommitted(line, claim, transaction),
    }
  }
}

/** A new record has no id before it is written. */
const unnumbered = 0

/** Another transaction has the key. */
const busy = { kind: 'in_progress', leaseLeftMs: postgresBounds.singleLeftMs } as const
