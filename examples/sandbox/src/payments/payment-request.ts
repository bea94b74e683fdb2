import { Problem } from '../web/problem.js'

const currencies = ['KRW', 'USD', 'EUR'] as const

/** What a client asks for. */
export interface PaymentRequest {
  readonly customerId: string
  readonly amountCents: number
  readonly currency: (typeof currencies)[number]
  readonly metadata: Readonly<Record<string, string>>
}

const most = { idLength: 255, amountCents: Number.MAX_SAFE_INTEGER, members: 50, nameLength: 40, valueLength: 500 }

/** Reads a body as a payment request, or says what is wrong with it. Members that it does not know are ignored. */
export function paymentRequestOf(body: unknown): PaymentRequest {
  if (!isObject(body)) throw invalid('The body must be a JSON object.')
  const { customerId, amountCents, currency, metadata = {} } = body
  if (!isCustomerId(customerId)) {
    throw invalid(
      `customerId must be a text of 1 to ${most.idLength} characters, not blank, without control characters.`,
    )
  }
  if (!isAmount(amountCents)) throw invalid(`amountCents must be a whole number from 1 to ${most.amountCents}.`)
  if (!isCurrency(currency)) throw invalid(`currency must be one of ${currencies.join(', ')}.`)
  if (!isMetadata(metadata)) {
    const { members, nameLength, valueLength } = most
    throw invalid(
      `metadata must be an object of at most ${members} texts: names up to ${nameLength}, values up to ${valueLength} characters.`,
    )
  }
  return { customerId, amountCents, currency, metadata }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Only what every database keeps as it is: PostgreSQL knows no NUL, and a lone surrogate is not UTF-8. */
function isCustomerId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= most.idLength && value.trim() !== '' && isPlainText(value)
}

function isPlainText(value: string): boolean {
  return value.isWellFormed() && !/\p{Cc}/u.test(value)
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function isCurrency(value: unknown): value is PaymentRequest['currency'] {
  return currencies.some((currency) => currency === value)
}

function isMetadata(value: unknown): value is PaymentRequest['metadata'] {
  if (!isObject(value)) return false
  const members = Object.entries(value)
  const fits = ([name, text]: [string, unknown]) =>
    name.length <= most.nameLength && typeof text === 'string' && text.length <= most.valueLength
  return members.length <= most.members && members.every(fits)
}

function invalid(detail: string): Problem {
  return new Problem({ status: 400, code: 'request_invalid', title: 'The request is not a valid payment.', detail })
}
