import { recordDigest } from '../../engine/digest.js'
import type { RecordName, StoredRecord } from '../../engine/record.js'
import type { ListQuery, Page, Reaped, TenantPage, TenantQuery, Usage } from '../../engine/store.js'
import { invariant } from '../../kernel/errors.js'
import { listingOf } from '../sql/listing.js'
import { differences, type Row, recordOf } from '../sql/row.js'
import { scopesWithin, tenantsIn } from '../sql/tenant.js'
import type { Connection } from './connection.js'
import { listing, recordQueries as queries } from './record-queries.js'
import { statementsOn } from './statements.js'

/** The table of records, and the store's clock. */
export interface RecordTable {
  /** The store's time in milliseconds. */
  now(): number
  /** The highest id ever given: ids of deleted records are not given again. */
  lastId(): number
  find(name: RecordName): StoredRecord | undefined
  findById(id: number): StoredRecord | undefined
  /** Writes what differs from the record as it was read; `undefined` makes a new row. */
  write(current: StoredRecord | undefined, next: StoredRecord): void
  remove(record: RecordName): void
  /** Claims whose lease is over and that may not run again. */
  overdue(now: number, limit: number): readonly StoredRecord[]
  /** What is half-done past its retention, and nobody goes on with. */
  unfinished(operations: readonly string[], now: number, limit: number): readonly StoredRecord[]
  interrupted(operations: readonly string[], now: number, limit: number): readonly StoredRecord[]
  doubts(operations: readonly string[], now: number, limit: number): readonly StoredRecord[]
  /** Records past retention whose effects are final, without the bodies of their answers. */
  expired(now: number, limit: number): readonly StoredRecord[]
  /** Tombstones that stood their time, and whose effects are final. */
  forgotten(now: number, limit: number): readonly StoredRecord[]
  /** How many there are of both. */
  reapable(now: number, atMost: number): Reaped
  list(query: ListQuery): Page
  tenants(query: TenantQuery): TenantPage
  /** What is active of a tenant. */
  usage(tenant: string, now: number, atMost: number): Usage
}

export function recordTable(connection: Connection): RecordTable {
  const now = connection.prepare<{ now: number }>(queries.now)
  const lastId = connection.prepare<{ seq: number }>(queries.lastId)
  const usage = connection.prepare<{ keys: number; bytes: number }>(queries.usage)
  const reapable = connection.prepare<Reaped>(queries.reapable)
  const tenants = connection.prepare<{ scope_id: string; is_first: number }>(queries.tenants)
  const statement = statementsOn<Row>(connection)
  const all = (sql: string, parameters: readonly unknown[]) => statement(sql).all(parameters).map(recordOf)

  return {
    now() {
      const row = now.get([])
      invariant(row, 'SQLite tells the time')
      return row.now
    },
    lastId: () => lastId.get([])?.seq ?? 0,
    find(name) {
      const row = statement(queries.find).get([recordDigest(name)])
      if (row === undefined) return undefined
      invariant(row.scope_id === name.scope && row.idempotency_key === name.key, 'two names never share a digest')
      return recordOf(row)
    },
    findById(id) {
      const row = statement(queries.findById).get([id])
      return row && recordOf(row)
    },
    write(current, next) {
      const { names, values } = differences(current, next)
      const { id, scope, key } = next
      if (current === undefined) statement(queries.insert(names)).run([id, recordDigest(next), scope, key, ...values])
      else if (names.length > 0) statement(queries.update(names)).run([...values, id])
    },
    remove: (name) => statement(queries.remove).run([recordDigest(name)]),
    overdue: (time, limit) => all(queries.overdue, [time, limit]),
    unfinished: (operations, time, limit) => all(queries.unfinished(operations), [time, time, ...operations, limit]),
    interrupted: (operations, time, limit) =>
      all(queries.interrupted(operations), [time, ...operations, time, ...operations, limit]),
    doubts: (operations, time, limit) => all(queries.doubts(operations), [time, ...operations, limit]),
    expired: (time, limit) => all(queries.expired, [time, limit]),
    forgotten: (time, limit) => all(queries.forgotten, [time, limit]),
    reapable(time, atMost) {
      const row = reapable.get([time, atMost])
      invariant(row, 'a count gives one row')
      return { buried: row.buried, deleted: row.deleted }
    },
    list(query) {
      const { text, values, page } = listingOf(query, query.limit, listing)
      const rows = connection.prepare<Row & { readonly n: number; readonly fits: number }>(text).all(values)
      return page(rows.map(({ n, fits, ...row }) => ({ record: recordOf(row), n, fits: fits === 1 })))
    },
    tenants({ limit, after }) {
      const rows = tenants.all([after ?? '', 2 * limit])
      return tenantsIn(
        rows.map(({ scope_id, is_first }) => ({ scope: scope_id, isFirst: is_first === 1 })),
        limit,
      )
    },
    usage(tenant, time, atMost) {
      const [from, to] = scopesWithin(tenant)
      const row = usage.get([tenant, time, from, to, time, atMost])
      invariant(row, 'a count gives one row')
      return { keys: row.keys, bytes: row.bytes }
    },
  }
}
