import { passing } from '../../kernel/crash-points.js'
import {
  arraysOf,
  completedIn,
  completing,
  type Found,
  foundIn,
  type Given,
  reading,
  renewing,
  reserving,
  spelledDigestOf,
} from './arguments.js'
import { type BatchQueries, told } from './batch-queries.js'
import type { RecordBatches } from './batching-table.js'
import { named, type Query, type Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'
import type { Inserted } from './record-table.js'

/** The statements on many records at once, by which records travel together. */
export function recordBatches(queries: BatchQueries, execute: Execute): RecordBatches {
  /** What the statement gave for each that was asked. Every row says whose it is by its digest. */
  function all<Asked, Result>(query: Query, given: Given<Asked>, resultOf: (row: Row) => Result | undefined) {
    return async (asked: readonly Asked[]): Promise<readonly (Result | undefined)[]> => {
      const digests = asked.map((one) => spelledDigestOf(given.nameOf(one)))
      const rows = new Map<unknown, Row>()
      for (const row of await execute(everyScope, query, arraysOf(given, digests, asked))) rows.set(row.digest, row)
      return digests.map((digest) => {
        const row = rows.get(digest)
        return row && resultOf(row)
      })
    }
  }

  const reserve = all(queries.reserve, reserving, insertedIn)
  const complete = all(queries.complete, completing, completedIn)
  return {
    async insert(reservations) {
      const inserted = await reserve(reservations)
      passing('batch.reserved')
      return inserted
    },
    find: all(queries.read, reading, lightIn),
    renew: all(queries.renew, renewing, () => true as const),
    async complete(completions) {
      const completed = await complete(completions)
      passing('batch.completed')
      return completed
    },
  }
}

function insertedIn({ fresh_id, now, known }: Row): Inserted {
  if (known === null || known === undefined) return { kind: 'new', id: Number(fresh_id), now: Number(now) }
  return { kind: 'known', found: lightIn({ ...named({ gives: told }, JSON.parse(known)), now: now ?? null }) }
}

/** A body that is too large to travel with others is read alone. */
function lightIn(row: Row): Found | undefined {
  return row.is_large === null ? foundIn(row) : undefined
}
