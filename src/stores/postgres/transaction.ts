import type { Claim } from '../../engine/record.js'
import type { Committed, Completed, Step } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Written } from './arguments.js'
import type { Connections, Session } from './connections.js'
import type { EffectWriter } from './effects/effect-writer.js'
import { type RowSecurity, sessionExecutor } from './executor.js'
import { inOneCommit } from './in-one-commit.js'
import type { Queries } from './queries.js'
import { type RecordTable, recordTable } from './record-table.js'

export interface Surroundings {
  readonly queries: Queries
  readonly effects: EffectWriter
  readonly rowSecurity: RowSecurity
  /** Looks what became of a COMMIT: the store's own connections, whoever opened the transaction. */
  readonly readBack: Pick<Connections<unknown>, 'transaction'>
}

/**
 * Business rows, effects and the record in one commit. The fenced write is the last statement before COMMIT and takes the
 * row's lock only then, so that renewals are never held up by a handler that takes its time.
 *
 * A COMMIT whose reply was lost is settled by reading the record under its row lock: it says by the id of its last
 * transaction whether it was this one.
 */
export async function inTransaction<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, effects, rowSecurity, readBack }: Surroundings,
  claim: Claim,
  body: (tx: Tx) => Promise<Step<T>>,
): Promise<Committed<T>> {
  const executorOf = (query: Session<Tx>['query']) => sessionExecutor(query, rowSecurity, claim.scope)

  return inOneCommit(connections, async ({ query, said }) => {
    const execute = await executorOf(query)
    const { value, write, effects: wanted = [] } = await said(body)
    await effects.write(execute, claim, wanted)
    const written = await fencedWrite(recordTable(queries, execute), claim, write)
    if (written === undefined) throw new HapaxError('claim_lost')
    const { committedIn, expiresAt } = written
    return { value: { value, expiresAt }, isCommitted: () => isCommitted(committedIn) }
  })

  async function isCommitted(committedIn: string): Promise<boolean> {
    const found = await readBack.transaction(async ({ query }) =>
      recordTable(queries, await executorOf(query)).lock(claim),
    )
    return found?.record.claimId === claim.claimId && found.committedIn === committedIn
  }
}

async function fencedWrite(
  records: RecordTable,
  claim: Claim,
  write: Step<unknown>['write'],
): Promise<(Completed & Written) | undefined> {
  if (write.kind === 'complete') return records.complete(claim, write)
  const found = await records.lock(claim)
  const next = found && transitions.checkpoint(found.record, claim, write, found.now)
  const written = found && next && (await records.write(found, next, write.call))
  return written && { expiresAt: next?.expiresAt, ...written }
}
