import { recordDigest } from '../../engine/digest.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import type { ListQuery } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import type { Connection } from './connection.js'
import { columns, type Row, recordOf } from './row.js'

/** The table of records, and the store's clock: every statement that Hapax itself runs on them. */
export interface RecordTable {
  /** The store's time in milliseconds, unless a test has pinned it. */
  now(): number
  /** The highest id ever given: ids of deleted records are not given again. */
  lastId(): number
  find(name: RecordName): StoredRecord | undefined
  insert(record: StoredRecord): void
  update(record: StoredRecord): void
  remove(record: RecordName): void
  /** Open claims whose lease is over and that may not run again, oldest first. */
  overdue(now: number, limit: number): readonly StoredRecord[]
  /** Records past retention, without their answers: the reaper has no use for them. */
  expired(now: number, limit: number): readonly StoredRecord[]
  /** Tombstones that stood their time. */
  forgotten(now: number, limit: number): readonly StoredRecord[]
  list(query: Omit<ListQuery, 'after'> & { readonly after: number }): readonly StoredRecord[]
}

export function recordTable(connection: Connection): RecordTable {
  const sql = (text: string) => connection.prepare<Row>(text)
  const now = connection.prepare<{ now: number }>(queries.now)
  const lastId = connection.prepare<{ seq: number }>(queries.lastId)
  const find = sql(queries.find)
  const insert = sql(queries.insert)
  const update = sql(queries.update)
  const remove = sql(queries.remove)
  const overdue = sql(queries.overdue)
  const expired = sql(queries.expired)
  const forgotten = sql(queries.forgotten)

  return {
    now() {
      const row = now.get([])
      invariant(row, 'SQLite tells the time')
      return row.now
    },
    lastId: () => lastId.get([])?.seq ?? 0,
    find(name) {
      const row = find.get([recordDigest(name)])
      if (row === undefined) return undefined
      invariant(row.scope_id === name.scope && row.idempotency_key === name.key, 'two names never share a digest')
      return recordOf(row)
    },
    insert: (record) => insert.run([record.id, recordDigest(record), record.scope, record.key, ...values(record)]),
    update: (record) => update.run([...values(record), record.id]),
    remove: (name) => remove.run([recordDigest(name)]),
    overdue: (time, limit) => overdue.all([time, limit]).map(recordOf),
    expired: (time, limit) => expired.all([time, limit]).map(recordOf),
    forgotten: (time, limit) => forgotten.all([time, limit]).map(recordOf),
    list: ({ after, limit, ...filter }) => {
      const wanted = [after, filter.scope, filter.state].filter((value) => value !== undefined)
      return sql(queries.list(filter))
        .all([...wanted, limit])
        .map(recordOf)
    },
  }
}

const names = Object.keys(columns)
const readers = Object.values(columns)

function values(record: StoredRecord): unknown[] {
  return readers.map((read) => read(record))
}

const withoutAnswer = ['id', 'scope_id', 'idempotency_key', ...names]
  .map((name) => (name.startsWith('response_') ? `NULL AS ${name}` : name))
  .join(', ')

/** Their conditions repeat those of the partial indexes word for word, which is how SQLite knows to use them. */
export const queries = {
  now: `SELECT coalesce((SELECT pinned_at FROM hapax_clock), CAST(round(unixepoch('subsec') * 1000) AS INTEGER)) AS now`,
  lastId: `SELECT seq FROM sqlite_sequence WHERE name = 'hapax_records'`,
  find: 'SELECT * FROM hapax_records WHERE digest = ?',
  insert: `INSERT INTO hapax_records (id, digest, scope_id, idempotency_key, ${names.join(', ')})
    VALUES (?, ?, ?, ?, ${names.map(() => '?').join(', ')})`,
  update: `UPDATE hapax_records SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`,
  remove: 'DELETE FROM hapax_records WHERE digest = ?',
  overdue: `SELECT * FROM hapax_records
    WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ? ORDER BY locked_until LIMIT ?`,
  expired: `SELECT ${withoutAnswer} FROM hapax_records
    WHERE (status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started')) AND expires_at <= ?
    ORDER BY expires_at LIMIT ?`,
  forgotten: `SELECT ${withoutAnswer} FROM hapax_records
    WHERE status = 'expired' AND expires_at + tombstone_ms <= ? ORDER BY expires_at + tombstone_ms LIMIT ?`,
  list: ({ scope, state }: Pick<ListQuery, 'scope' | 'state'>) => `SELECT * FROM hapax_records
    WHERE id > ? ${scope === undefined ? '' : 'AND scope_id = ?'} ${state === undefined ? '' : 'AND status = ?'}
    ORDER BY id LIMIT ?`,
} as const
