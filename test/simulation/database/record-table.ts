import type { RecordName, StoredRecord } from '../../../src/engine/record.js'
import type { RecordTable } from '../../../src/stores/postgres/record-table.js'
import type { RecordRow } from './database.js'
import type { Line, Words } from './line.js'
import { recordBatches } from './record-batches.js'
import { recordDeeds } from './record-deeds.js'

/** The statements that the steps of the PostgreSQL store are made of, each one call. */
export function simulatedRecordTable(line: Line): Omit<RecordTable, 'lock' | 'create'> {
  const deeds = recordDeeds(line, undefined)
  const batches = recordBatches(line)
  const change = <T>(words: Words, run: () => T) => line.ask(words, { run })
  const look = <T>(words: Words, run: () => T) => line.ask(words, { run }, 'read')

  return {
    insert: (reservation) => line.ask(() => `reserves ${named(reservation)}`, deeds.insert(reservation)),
    find: (name) => line.ask(() => `reads ${named(name)}`, deeds.find(name), 'read'),
    write(found, next, call) {
      const writing = deeds.write(found, () => next, call)
      return line.ask(() => `writes ${named(next)} as ${next.state}`, writing).then(writtenIn)
    },
    remove: (found) => line.ask(() => `forgets ${named(found.record)}`, deeds.remove(found)),
    renew: async (claim, leaseMs) =>
      (await line.ask(() => `renews ${named(claim)}`, deeds.renew(claim, leaseMs))) !== undefined,
    async complete(claim, completion) {
      const row = await line.ask(() => `completes ${named(claim)}`, deeds.complete(claim, completion))
      return row && { expiresAt: row.record.expiresAt, committedIn: row.committedIn ?? '' }
    },
    sweep: (limit) =>
      change(
        () => `sweeps up to ${limit} records`,
        () => batches.sweep(limit),
      ),
    abandon: (query) =>
      change(
        () => `leaves up to ${query.limit} records to a person`,
        () => batches.abandon(query),
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
    list: (query) =>
      look(
        () => 'lists records',
        () => batches.list(query),
      ),
    tenants: (query) =>
      look(
        () => 'lists tenants',
        () => batches.tenants(query),
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

function writtenIn(row: RecordRow | undefined): { readonly committedIn: string } | undefined {
  return row && { committedIn: row.committedIn ?? '' }
}
