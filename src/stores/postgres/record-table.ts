import type { CallMark } from '../../engine/call-store.js'
import type { Claim, RecordName, StoredRecord } from '../../engine/record.js'
import type {
  Completed,
  Completion,
  ListQuery,
  Page,
  TenantPage,
  TenantQuery,
  Usage,
  WaitingQuery,
} from '../../engine/store.js'
import type { Reservation } from '../../engine/verdict.js'
import { invariant } from '../../kernel/errors.js'
import { listingOf } from '../sql/listing.js'
import { differences, recordOf, type SqlValue } from '../sql/row.js'
import { scopesWithin, tenantsIn } from '../sql/tenant.js'
import {
  completedIn,
  completing,
  digestOf,
  type Found,
  foundIn,
  renewing,
  reserving,
  valuesOf,
  type Written,
} from './arguments.js'
import { arrayOf } from './array.js'
import { recordRowOf, whole } from './columns.js'
import type { Asked, Query, Row } from './connections.js'
import { type Execute, everyScope } from './executor.js'
import type { Queries } from './queries.js'

/** The table of records, through whatever runs its statements: a pool, or the connection of a transaction. */
export interface RecordTable {
  insert(reservation: Reservation): Promise<Inserted>
  find(name: RecordName): Promise<Found | undefined>
  /** Keeps the row for the rest of the transaction. */
  lock(name: RecordName): Promise<Found | undefined>
  /** Writes only if the row is still the one that was read. */
  write(found: Found, next: StoredRecord, call?: CallMark): Promise<Written | undefined>
  remove(found: Found): Promise<boolean>
  renew(claim: Claim, leaseMs: number): Promise<boolean>
  complete(claim: Claim, completion: Completion): Promise<(Completed & Written) | undefined>
  sweep(limit: number): Promise<readonly StoredRecord[]>
  abandon(query: WaitingQuery): Promise<readonly StoredRecord[]>
  interrupted(query: WaitingQuery): Promise<readonly StoredRecord[]>
  doubts(query: WaitingQuery & { readonly holdMs: number }): Promise<readonly StoredRecord[]>
  bury(limit: number): Promise<number>
  forget(limit: number): Promise<number>
  list(query: ListQuery): Promise<Page>
  usage(tenant: string, atMost: number): Promise<Usage>
  tenants(query: TenantQuery): Promise<TenantPage>
}

/** A new record has an id and a time. A known one may have been read in the same step, or is still to be read. */
export type Inserted =
  | { readonly kind: 'new'; readonly id: number; readonly now: number }
  | { readonly kind: 'known'; readonly found: Found | undefined }

export function recordTable(queries: Queries, execute: Execute): RecordTable {
  const records = (rows: readonly Row[]) => rows.map((row) => recordOf(recordRowOf(row)))
  const reading = (query: Queries['find' | 'lock']) => async (name: RecordName) => {
    return foundAmong(name, await execute(name.scope, query, [digestOf(name)]))
  }

  return {
    async insert(reservation) {
      const [row] = await execute(reservation.scope, queries.insert, valuesOf(reserving, reservation))
      if (row === undefined) return { kind: 'known', found: undefined }
      return { kind: 'new', id: Number(row.id), now: Number(row.now) }
    },
    find: reading(queries.find),
    lock: reading(queries.lock),
    async write({ record, revision }, next, call) {
      const { names, values } = differences(record, next)
      const { query, values: more } = marking(queries, names, call)
      const [row] = await execute(record.scope, query, [digestOf(record), revision, ...values, ...more])
      return row && { committedIn: String(row.committed_in) }
    },
    async remove({ record, revision }) {
      return (await execute(record.scope, queries.remove, [digestOf(record), revision])).length > 0
    },
    async renew(claim, leaseMs) {
      return (await execute(claim.scope, queries.renew, valuesOf(renewing, { claim, leaseMs }))).length > 0
    },
    async complete(claim, completion) {
      const [row] = await execute(claim.scope, queries.complete, valuesOf(completing, { claim, completion }))
      return row && completedIn(row)
    },
    async sweep(limit) {
      return records(await execute(everyScope, queries.sweep, [limit]))
    },
    async abandon({ operations, limit }) {
      return records(await execute(everyScope, queries.abandon, [limit, arrayOf(operations)]))
    },
    async interrupted({ operations, limit }) {
      return records(await execute(everyScope, queries.interrupted, [limit, arrayOf(operations)]))
    },
    async doubts({ operations, limit, holdMs }) {
      return records(await execute(everyScope, queries.doubts, [limit, arrayOf(operations), holdMs]))
    },
    async bury(limit) {
      return (await execute(everyScope, queries.bury, [limit])).length
    },
    async forget(limit) {
      return (await execute(everyScope, queries.forget, [limit])).length
    },
    async list(query) {
      const { text, values, page } = listingOf(query, query.limit, queries.listing)
      const rows = await execute(query.scope ?? everyScope, { text, gives: listedGives, plan: 'fresh' }, values)
      return page(
        rows.map(({ n, fits, ...row }) => ({
          record: recordOf(recordRowOf(row)),
          n: Number(n),
          fits: fits === '1',
        })),
      )
    },
    async tenants({ limit, after }) {
      const rows = await execute(everyScope, queries.tenants, [after ?? '', 2 * limit])
      return tenantsIn(
        rows.map(({ scope_id, is_first }) => ({ scope: scope_id ?? '', isFirst: is_first === 't' })),
        limit,
      )
    },
    async usage(tenant, atMost) {
      const values = [tenant, ...scopesWithin(tenant), atMost]
      const [row] = await execute(everyScope, queries.usage, values)
      return { keys: Number(row?.keys), bytes: Number(row?.bytes) }
    },
  }
}

/** How the record with that digest is looked for. */
export function finding({ find }: Queries, digest: Uint8Array): Asked {
  return { query: find, values: [digest] }
}

/** What was found of it. */
export function foundAmong(name: RecordName, [row]: readonly Row[]): Found | undefined {
  return row && named(name, foundIn(row))
}

const listedGives = [...whole, 'n', 'fits']

/** The statement that writes these columns and what became of a call, and what it is given besides. */
function marking(queries: Queries, names: readonly string[], call: CallMark | undefined): Marking {
  if (call === undefined) return { query: queries.update(names), values: [] }
  if (call.kind === 'begun') return { query: queries.updateBeginning(names), values: [call.key, call.phase] }
  return { query: queries.updateEnding(names), values: [call.key, call.kind] }
}

interface Marking {
  readonly query: Query
  readonly values: readonly SqlValue[]
}

/** A digest leads to one name; anything else would be somebody else's record. */
function named(name: RecordName, found: Found): Found {
  const { scope, key } = found.record
  invariant(scope === name.scope && key === name.key, 'two names never share a digest')
  return found
}
