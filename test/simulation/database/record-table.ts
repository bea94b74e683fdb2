import type { RecordName, StoredRecord } from '../../../src/engine/record.js'
import type { RecordTable } from '../../../src/stores/postgres/record-table.js'
import type { RecordRow } from './database.js'
import type { Line } from './line.js'
import { recordBatches } from './record-batches.js'
import { recordDeeds } from './record-deeds.js'

/**
 * The statements that the steps of the PostgreSQL store are made of, each one call. What is spread comes first: behind another
 * member it takes several times as long.
 */
export function simulatedRecordTable(line: Line): Omit<RecordTable, 'lock' | 'create'> {
  const deeds = recordDeeds(line, undefined)
  const batches = recordBatches(line)
  const change = <T>(words: () => string, run: () => T) => line.ask({ words, run })
  const look = <T>(words: () => string, run: () => T) => line.ask({ words, run, isRead: true })

  return {
    insert: (reservation) => line.ask({ ...deeds.insert(reservation), words: () => `reserves ${named(reservation)}` }),
    find: (name) => line.ask({ ...deeds.find(name), words: () => `reads ${named(name)}`, isRead: true }),
    async write(found, next, call) {
      const words = () => `writes ${named(next)} as ${next.state}`
      return writtenIn(await line.ask({ ...deeds.write(found, () => next, call), words }))
    },
    remove: (found) => line.ask({ ...deeds.remove(found), words: () => `forgets ${named(found.record)}` }),
    renew: async (claim, leaseMs) =>
      (await line.ask({ ...deeds.renew(claim, leaseMs), words: () => `renews ${named(claim)}` })) !== undefined,
    async complete(claim, completion) {
      const words = () => `completes ${named(claim)}`
      const row = await line.ask({ ...deeds.complete(claim, completion), words })
      return row && { expiresAt: row.record.expiresAt, ...writtenIn(row) }
    },
    sweep: (limit) =>
      change(
        () => `sweeps up to ${limit} records`,
        () => batches.sweep(limit),
      ),
    interrupted: (query) =>
      look(
        () => `looks for up to ${query.limit} interrupted records`,
        () => batches.interrupted(query),
      ),
    doubts: (query) =>
      change(
        () => `takes up to ${query.limit} doubts`,
        () => batches.doubts(query),
      ),
    bury: (limit) =>
      change(
        () => `buries up to ${limit} records`,
        () => batches.bury(limit),
      ),
    forget: (limit) =>
      change(
        () => `forgets up to ${limit} tombstones`,
        () => batches.forget(limit),
      ),
    list: (query, limit) =>
      look(
        () => 'lists records',
        () => batches.list(query, limit),
      ),
    usage: (tenant, atMost) =>
      look(
        () => `counts the keys of ${tenant}`,
        () => batches.usage(tenant, atMost),
      ),
  }
}

export function named({ scope, key }: RecordName | StoredRecord): string {
  return `${scope}/${key}`
}

function writtenIn(row: RecordRow): { readonly committedIn: string }
function writtenIn(row: RecordRow | undefined): { readonly committedIn: string } | undefined
function writtenIn(row: RecordRow | undefined): { readonly committedIn: string } | undefined {
  return row && { committedIn: row.committedIn ?? '' }
}
