import type { RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { notFound } from '../web/fields.js'
import { pageOf } from '../web/paging.js'
import { authenticate } from '../web/tenant.js'
import { findRide, listRides, rideOf, shownRide } from './rides.js'
import { answerLikeStripe } from './stripe-errors.js'

/** GET /rides/:id. Another tenant's ride is answered like one that does not exist. */
export function showRide({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    errorHandler: answerLikeStripe,
    async handler({ tenant, params }) {
      const { id } = params as { id: string }
      const { rows } = await database.query(findRide(database.queries, tenant, id))
      const [row] = rows
      if (row === undefined) throw notFound('ride')
      return shownRide(rideOf(row))
    },
  }
}

/** GET /rides: the tenant's, the last one first. */
export function showRides({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    errorHandler: answerLikeStripe,
    async handler({ tenant, query }) {
      const { items: rides, next } = await pageOf(query, async (limit, after) => {
        const { rows } = await database.query(listRides(database.queries, tenant, limit, after))
        return rows.map((row) => shownRide(rideOf(row)))
      })
      return { rides, ...(next !== undefined && { next }) }
    },
  }
}
