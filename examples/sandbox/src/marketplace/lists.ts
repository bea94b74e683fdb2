import type { FastifyRequest } from 'fastify'
import { type Row, type Rows, rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { pageOf } from '../web/paging.js'
import { authenticate } from '../web/tenant.js'
import type { Route } from './guarding.js'
import { idIn } from './guarding.js'
import { answerError } from './problems.js'
import type { MarketplaceTables } from './tables.js'

/** What there is, the newest first, and each by its id. Reading needs no key. */

interface Collection<T> {
  readonly table: keyof MarketplaceTables
  readonly one: 'order' | 'dispute' | 'topup' | 'withdrawal'
  readonly shown: (row: Row) => T
}

export function listPage<T extends { readonly id: string }>({ database }: Sandbox, of: Collection<T>): Route {
  const rows = rowsOf(database)
  return reading(async ({ tenant, query }) => {
    const { items, next } = await pageOf(query, (limit, after) => listed(rows, of, tenant, limit, after))
    return { [of.table]: items, ...(next !== undefined && { next }) }
  })
}

export function onePage<T>({ database }: Sandbox, of: Collection<T>): Route {
  return reading(async (request) => {
    const { db, run } = rowsOf(database)
    const query = db.selectFrom(of.table).selectAll()
    const [row] = await run(query.where('tenant', '=', request.tenant).where('id', '=', idIn(request)))
    if (row === undefined) throw notFound(of.one)
    return of.shown(row)
  })
}

export function reading(handler: (request: FastifyRequest) => Promise<unknown>): Route {
  return { onRequest: authenticate, errorHandler: answerError, config: { emptyBody: 'allowed' }, handler }
}

async function listed<T>(
  { db, run }: Rows,
  { table, shown }: Collection<T>,
  tenant: string,
  limit: number,
  after: string | undefined,
): Promise<readonly T[]> {
  const all = db.selectFrom(table).selectAll().where('tenant', '=', tenant)
  const rest = after === undefined ? all : all.where('id', '<', after)
  return (await run(rest.orderBy('id', 'desc').limit(limit))).map(shown)
}
