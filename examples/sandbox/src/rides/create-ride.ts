import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import { profiles } from 'hapax'
import { guard } from 'hapax/fastify'
import { cardHonoursKeyFor, isCharge } from '../partners/card.js'
import type { Partners } from '../partners/partners.js'
import { patienceOf } from '../partners/patience.js'
import { meaningOf } from '../partners/provider.js'
import type { Sandbox } from '../sandbox.js'
import { everyRoute } from '../web/keys.js'
import { authenticate } from '../web/tenant.js'
import { type RideRequest, rideRequestOf } from './ride-request.js'
import { insertRide, newRide, type Ride, shownRide, updateRide } from './rides.js'
import { answerLikeStripe, cardError } from './stripe-errors.js'

interface RideInput {
  readonly tenant: string
  readonly ride: RideRequest
}

/** For whoever wants to see that an answer of 500 is an answer: the ride is refused by us, before the card is asked. */
const brokenCard = 'pm_card_processing_error'

/**
 * POST /rides. An operation in phases, `started → ride_created → charge_created → finished`: killed anywhere, the retry
 * goes on behind the last of them, and so does the resumer if nobody retries.
 */
export function createRide(sandbox: Sandbox, { card }: Partners): RouteShorthandOptionsWithHandler {
  const { hapax, database } = sandbox
  const db = database.queries
  const { lease, timeout } = patienceOf(sandbox)

  const operation = hapax.operation(
    'rides.create',
    { version: 1, retention: '24h', lease },
    async (work, { tenant, ride: asked }: RideInput) => {
      const ride: Ride = await work.transaction('ride_created', async ({ tx }) => {
        const created = newRide(tenant, asked)
        await tx.run(insertRide(db, created))
        return created
      })
      if (asked.paymentMethod === brokenCard) return finish(ride, 'failed', null)
      const { id: reference, amountCents, currency } = ride
      const charge = await work.call('charge_created', {
        run: (call) => card.charge({ reference, amountCents, currency }, call),
        lookup: ({ key }) => card.find(key),
        classify: meaningOf,
        accepts: isCharge,
        // So a call whose answer was lost is made again, and finds what it did the first time.
        honoursKeyFor: cardHonoursKeyFor,
        timeout,
      })
      return charge.status === 'succeeded' ? finish(ride, 'paid', charge.id) : finish(ride, 'declined', null)

      function finish(created: Ride, status: 'paid' | 'declined' | 'failed', chargeId: string | null) {
        const ended: Ride = { ...created, status, chargeId, receipt: status === 'paid' ? 'queued' : 'none' }
        return work.commit(async ({ tx, effect }) => {
          await tx.run(updateRide(db, ended))
          if (status !== 'paid') return cardError(status)
          effect('rides.receipt', { rideId: ended.id, tenant, text: `Your ride ${ended.id} is paid.` })
          return { status: 201, body: shownRide(ended), headers: { Location: `/rides/${ended.id}` } }
        })
      }
    },
  )
  return guard(
    hapax,
    {
      ...everyRoute(sandbox),
      operation,
      profile: profiles.stripe,
      input: ({ tenant, body }) => ({ tenant, ride: body as RideRequest }),
    },
    { onRequest: authenticate, preValidation: readRide, errorHandler: answerLikeStripe },
  )
}

/** A hook: the operation is given a ride, or is not called. */
async function readRide(request: FastifyRequest): Promise<void> {
  request.body = rideRequestOf(request.body)
}
