import type { CompiledQuery, Kysely, SchemaModule } from 'kysely'
import { newId } from '../web/ids.js'
import type { RideRequest } from './ride-request.js'

/** The table of rides, as queries that are built once and run on SQLite and PostgreSQL alike. */

export interface Ride extends RideRequest {
  readonly id: string
  readonly tenant: string
  /** `created` until the card processor has answered. */
  readonly status: 'created' | 'paid' | 'declined' | 'failed'
  readonly chargeId: string | null
  readonly receipt: 'none' | 'queued' | 'sent' | 'refused'
  /** ISO 8601, in UTC. */
  readonly createdAt: string
}

export interface RideTables {
  rides: {
    id: string
    tenant: string
    origin_lat: number
    origin_lon: number
    destination_lat: number
    destination_lon: number
    amount_cents: number
    currency: string
    payment_method: string
    status: string
    charge_id: string | null
    receipt: string
    created_at: string
  }
}

type Queries = Kysely<RideTables>

export function createRidesTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('rides')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('origin_lat', 'double precision', (column) => column.notNull())
    .addColumn('origin_lon', 'double precision', (column) => column.notNull())
    .addColumn('destination_lat', 'double precision', (column) => column.notNull())
    .addColumn('destination_lon', 'double precision', (column) => column.notNull())
    .addColumn('amount_cents', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('payment_method', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('charge_id', 'text')
    .addColumn('receipt', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .compile()
}

export function newRide(tenant: string, asked: RideRequest): Ride {
  const createdAt = new Date().toISOString()
  return { ...asked, id: newId('ride'), tenant, status: 'created', chargeId: null, receipt: 'none', createdAt }
}

export function insertRide(db: Queries, ride: Ride): CompiledQuery {
  const { id, tenant, origin, destination, amountCents, currency, paymentMethod, status, chargeId, receipt } = ride
  return db
    .insertInto('rides')
    .values({
      id,
      tenant,
      origin_lat: origin.lat,
      origin_lon: origin.lon,
      destination_lat: destination.lat,
      destination_lon: destination.lon,
      amount_cents: amountCents,
      currency,
      payment_method: paymentMethod,
      status,
      charge_id: chargeId,
      receipt,
      created_at: ride.createdAt,
    })
    .compile()
}

/** How the ride stands once the card processor has answered. */
export function updateRide(db: Queries, { id, status, chargeId, receipt }: Ride): CompiledQuery {
  return db.updateTable('rides').set({ status, charge_id: chargeId, receipt }).where('id', '=', id).compile()
}

export function setReceipt(db: Queries, id: string, receipt: Ride['receipt']): CompiledQuery {
  return db.updateTable('rides').set({ receipt }).where('id', '=', id).compile()
}

/** Asks for the tenant too: to everybody else the ride does not exist. */
export function findRide(db: Queries, tenant: string, id: string): CompiledQuery {
  return db.selectFrom('rides').selectAll().where('tenant', '=', tenant).where('id', '=', id).compile()
}

/** The last one first, from behind `after` on. */
export function listRides(db: Queries, tenant: string, limit: number, after: string | undefined): CompiledQuery {
  const mine = db.selectFrom('rides').selectAll().where('tenant', '=', tenant)
  const rest = after === undefined ? mine : mine.where('id', '<', after)
  return rest.orderBy('id', 'desc').limit(limit).compile()
}

/** What a row says. A 64-bit integer comes out of SQLite as a number and out of `pg` as a text; both end here. */
export function rideOf(row: Readonly<Record<string, unknown>>): Ride {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    origin: { lat: Number(row.origin_lat), lon: Number(row.origin_lon) },
    destination: { lat: Number(row.destination_lat), lon: Number(row.destination_lon) },
    amountCents: Number(row.amount_cents),
    currency: String(row.currency),
    paymentMethod: String(row.payment_method),
    status: row.status as Ride['status'],
    chargeId: row.charge_id === null ? null : String(row.charge_id),
    receipt: row.receipt as Ride['receipt'],
    createdAt: String(row.created_at),
  }
}

/** A ride as clients see it. */
export function shownRide({ tenant: _tenant, id, status, ...rest }: Ride): Omit<Ride, 'tenant'> {
  return { id, status, ...rest }
}
