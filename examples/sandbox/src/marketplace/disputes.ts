import type { Row, Rows } from '../database/database.js'
import type { Decision } from './requests.js'

/** Disputes as rows: one per order, for ever. */
export interface Dispute {
  readonly id: string
  readonly tenant: string
  readonly orderId: string
  readonly reason: string | null
  readonly status: 'OPEN' | 'RESOLVED'
  readonly decision: Decision | null
  readonly createdAt: string
  readonly resolvedAt: string | null
}

export interface DisputeName {
  readonly tenant: string
  readonly disputeId: string
}

export async function findDispute(rows: Rows, { tenant, disputeId }: DisputeName): Promise<Dispute | undefined> {
  const { db, run } = rows
  const [row] = await run(
    db.selectFrom('disputes').selectAll().where('tenant', '=', tenant).where('id', '=', disputeId),
  )
  return row && disputeOf(row)
}

/** For one that is known to exist. */
export async function theDispute(rows: Rows, name: DisputeName): Promise<Dispute> {
  const dispute = await findDispute(rows, name)
  if (dispute === undefined) throw new Error(`dispute ${name.disputeId} is gone`)
  return dispute
}

export async function insertDispute({ db, run }: Rows, dispute: NewDispute): Promise<Dispute> {
  const { id, tenant, orderId, reason } = dispute
  const row = { id, tenant, order_id: orderId, reason, status: 'OPEN', created_at: new Date().toISOString() }
  return disputeOf(only(await run(db.insertInto('disputes').values(row).returningAll())))
}

type NewDispute = Pick<Dispute, 'id' | 'tenant' | 'orderId' | 'reason'>

export async function resolveDispute({ db, run }: Rows, name: DisputeName, decision: Decision): Promise<Dispute> {
  const query = db
    .updateTable('disputes')
    .set({ status: 'RESOLVED', decision, resolved_at: new Date().toISOString() })
    .where('tenant', '=', name.tenant)
    .where('id', '=', name.disputeId)
    .returningAll()
  return disputeOf(only(await run(query)))
}

/** As clients see it. */
export function shownDispute({ id, orderId, reason, status, decision, createdAt, resolvedAt }: Dispute) {
  return {
    id,
    dispute_id: id,
    order_id: orderId,
    status,
    reason,
    resolution: decision === null ? null : { decision, resolved_at: resolvedAt },
    created_at: createdAt,
  }
}

export function disputeOf(row: Row): Dispute {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    orderId: String(row.order_id),
    reason: row.reason as string | null,
    status: row.status as Dispute['status'],
    decision: row.decision as Decision | null,
    createdAt: String(row.created_at),
    resolvedAt: row.resolved_at as string | null,
  }
}

function only([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('the dispute is gone')
  return row
}
