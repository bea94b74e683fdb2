import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { authenticate } from '../web/tenant.js'
import { findRide, listRides, type RideTables, rideOf, shownRide } from './rides.js'
import { answerLikeStripe } from './stripe-errors.js'

const most = 100

/** GET /rides/:id. Another tenant's ride is answered like one that does not exist. */
export function showRide({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  const db = database.queries.withTables<RideTables>()
  return {
    onRequest: authenticate,
    errorHandler: answerLikeStripe,
    async handler({ tenant, params }) {
      const { rows } = await database.query(findRide(db, tenant, (params as { id: string }).id))
      const [row] = rows
      if (row === undefined) throw notFound('ride')
      return shownRide(rideOf(row))
    },
  }
}

/** GET /rides: the latest of the tenant's. */
export function showRides({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  const db = database.queries.withTables<RideTables>()
  return {
    onRequest: authenticate,
    errorHandler: answerLikeStripe,
    async handler({ tenant }) {
      const { rows } = await database.query(listRides(db, tenant, most))
      return { rides: rows.map((row) => shownRide(rideOf(row))) }
    },
  }
}
