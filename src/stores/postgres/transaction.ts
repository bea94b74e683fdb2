import type { Claim } from '../../engine/record.js'
import type { Committed, Completed, Step } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import type { Written } from './arguments.js'
import type { Connections, Session } from './connections.js'
import type { EffectWriter } from './effects/effect-writer.js'
import { type Execute, type RowSecurity, sessionExecutor } from './executor.js'
import { inOneCommit } from './in-one-commit.js'
import { type PhaseStatements, phase } from './phase.js'
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
 * A phase, by statements of PostgreSQL. The fenced write is the last of them before COMMIT; whoever reads back takes the row's
 * lock, and so waits for a COMMIT that is still under way.
 */
export async function inTransaction<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  { queries, effects, rowSecurity, readBack }: Surroundings,
  claim: Claim,
  body: (tx: Tx) => Promise<Step<T>>,
): Promise<Committed<T>> {
  const executorOf = (query: Session<Tx>['query']) => sessionExecutor(query, rowSecurity, claim.scope)

  const statementsBy = (execute: Execute): PhaseStatements => ({
    async write(claim, { write, effects: wanted = [] }) {
      await effects.write(execute, claim, wanted)
      return fencedWrite(recordTable(queries, execute), claim, write)
    },
    async lastWritten(claim) {
      const found = await readBack.transaction(async ({ query }) =>
        recordTable(queries, await executorOf(query)).lock(claim),
      )
      return found?.record.claimId === claim.claimId ? found : undefined
    },
  })

  return inOneCommit(connections, async (open) => phase(open, statementsBy(await executorOf(open.query)), claim, body))
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
