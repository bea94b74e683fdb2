import { currencyInAnyCase } from '../money/currencies.js'
import { cents, id, object, oneOf, orNull, page, ref, type System, text, time } from '../openapi/described.js'

const degrees = (most: number) => ({ type: 'number', minimum: -most, maximum: most })
const currency = currencyInAnyCase
const asked = {
  origin: ref('Place'),
  destination: ref('Place'),
  amountCents: cents,
  currency,
  paymentMethod: { ...text(100), description: '`pm_card_processing_error` is answered with 500, and that is kept.' },
}

export const rides: System = {
  name: 'Rides',
  about:
    'An operation in phases: the row, the charge, and the receipt that a worker sends. Killed anywhere, it goes on.',
  asks: 'token',
  errors: 'StripeError',
  schemas: {
    Place: object({ lat: degrees(90), lon: degrees(180) }),
    Ride: object({
      id,
      status: oneOf('created', 'paid', 'declined', 'failed'),
      ...asked,
      chargeId: orNull({ type: 'string' }),
      receipt: oneOf('none', 'queued', 'sent', 'refused'),
      createdAt: time,
    }),
  },
  routes: {
    'POST /rides': {
      summary: 'Take a ride, and pay for it',
      guardedAs: 'rides.create',
      body: {
        schema: object(asked, ['paymentMethod']),
        example: {
          origin: { lat: 52.52, lon: 13.405 },
          destination: { lat: 52.37, lon: 9.73 },
          amountCents: 2000,
          currency: 'usd',
        },
      },
      answers: { 201: { means: 'The ride is paid.', schema: ref('Ride'), located: true } },
      refusals: {
        402: 'The card was declined, which is an answer: a retry gets it again.',
        500: 'The card cannot be processed, which is kept as Stripe keeps it: a retry gets it again.',
        502: 'The card processor broke off, or is not there. The same request again goes on with it.',
        504: 'The card processor took too long. The same request again goes on with it.',
      },
    },
    'GET /rides': {
      summary: 'The rides, the last one first',
      paged: true,
      answers: { 200: { means: 'A page of them.', schema: page('rides', ref('Ride')) } },
    },
    'GET /rides/{id}': { summary: 'A ride', answers: { 200: { means: 'How it stands.', schema: ref('Ride') } } },
  },
}
