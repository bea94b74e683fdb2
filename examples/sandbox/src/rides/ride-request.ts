import { chargedCurrencies, isCurrencyInAnyCase } from '../money/currencies.js'
import { amountRange, type Fields, invalid, isAmount, isObject, isText } from '../web/fields.js'

/** What a rider asks for. */
export interface RideRequest {
  readonly origin: Place
  readonly destination: Place
  readonly amountCents: number
  readonly currency: string
  readonly paymentMethod: string
}

/** In degrees. */
export interface Place {
  readonly lat: number
  readonly lon: number
}

/** Pays, unless the card processor says no. */
const anyCard = 'pm_card_visa'

/** Reads a body as a ride, or says what is wrong with it. Members that it does not know are ignored. */
export function rideRequestOf(body: unknown): RideRequest {
  if (!isObject(body)) throw invalid('The body must be a JSON object.')
  const { amountCents, currency, paymentMethod = anyCard } = body
  const [origin, destination] = [placeIn(body, 'origin'), placeIn(body, 'destination')]
  if (!isAmount(amountCents)) throw invalid(`amountCents must be ${amountRange}.`)
  if (!isCurrencyInAnyCase(currency)) throw invalid(`currency must be one of ${chargedCurrencies.join(', ')}.`)
  if (!isText(paymentMethod, 100)) throw invalid('paymentMethod must be a text of 1 to 100 characters.')
  return { origin, destination, amountCents, currency, paymentMethod }
}

function placeIn(body: Fields, name: 'origin' | 'destination'): Place {
  const place = body[name]
  const { lat, lon } = isObject(place) ? place : ({} as Fields)
  if (isDegrees(lat, 90) && isDegrees(lon, 180)) return { lat, lon }
  throw invalid(`${name} must be { "lat": -90 to 90, "lon": -180 to 180 }, in degrees.`)
}

function isDegrees(value: unknown, most: number): value is number {
  return typeof value === 'number' && Math.abs(value) <= most
}
