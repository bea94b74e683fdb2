import type { FastifyRequest } from 'fastify'
import { type ChargedCurrency, chargedCurrencies, isChargedCurrency } from '../money/currencies.js'
import { amountRange, type Fields, invalid, isAmount, isObject, isText } from '../web/fields.js'

/** What a client asks for. */
export interface PaymentRequest {
  readonly customerId: string
  readonly amountCents: number
  readonly currency: ChargedCurrency
  readonly metadata: Readonly<Record<string, string>>
}

const most = { idLength: 255, members: 50, nameLength: 40, valueLength: 500 }

/** A hook: whoever makes the payment is given one, or is not called. */
export async function readPayment(request: FastifyRequest): Promise<void> {
  request.body = paymentRequestOf(request.body)
}

/** Reads a body as a payment request, or says what is wrong with it. Members that it does not know are ignored. */
function paymentRequestOf(body: unknown): PaymentRequest {
  if (!isObject(body)) throw invalid('The body must be a JSON object.')
  const { customerId, amountCents, currency, metadata = {} } = body
  if (!isText(customerId, most.idLength)) {
    throw invalid(
      `customerId must be a text of 1 to ${most.idLength} characters, not blank, without control characters.`,
    )
  }
  if (!isAmount(amountCents)) throw invalid(`amountCents must be ${amountRange}.`)
  if (!isChargedCurrency(currency)) throw invalid(`currency must be one of ${chargedCurrencies.join(', ')}.`)
  if (!isMetadata(metadata)) {
    const { members, nameLength, valueLength } = most
    throw invalid(
      `metadata must be an object of at most ${members} texts: names up to ${nameLength}, values up to ${valueLength} characters.`,
    )
  }
  return { customerId, amountCents, currency, metadata }
}

function isMetadata(value: unknown): value is PaymentRequest['metadata'] {
  if (!isObject(value)) return false
  const members = Object.entries(value as Fields)
  const fits = ([name, text]: [string, unknown]) =>
    name.length <= most.nameLength && typeof text === 'string' && text.length <= most.valueLength
  return members.length <= most.members && members.every(fits)
}
