import type { FastifyRequest } from 'fastify'
import { invalid, isAmount, isCurrency, isObject, isText, knownCurrencies, mostAmount } from '../web/fields.js'

/** What a client of the bank asks for. */
export interface WithdrawalRequest {
  /** In the smallest unit of the currency. */
  readonly amount: number
  readonly currency: string
  readonly description: string
  readonly customer: string
}

const most = { descriptionLength: 255, customerLength: 255 }

/** A hook: the handler is given a withdrawal, or is not called. */
export async function readWithdrawal(request: FastifyRequest): Promise<void> {
  request.body = withdrawalRequestOf(request.body)
}

function withdrawalRequestOf(body: unknown): WithdrawalRequest {
  if (!isObject(body)) throw invalid('withdrawal', 'The body must be a form, or a JSON object.')
  const { currency, description = '', customer } = body
  const amount = numberIn(body.amount)
  if (!isAmount(amount)) throw invalid('withdrawal', `amount must be a whole number from 1 to ${mostAmount}.`)
  if (!isCurrency(currency)) throw invalid('withdrawal', `currency must be one of ${knownCurrencies}.`)
  if (description !== '' && !isText(description, most.descriptionLength))
    throw invalid('withdrawal', `description must be a text of at most ${most.descriptionLength} characters.`)
  if (!isText(customer, most.customerLength))
    throw invalid('withdrawal', `customer must be a text of 1 to ${most.customerLength} characters.`)
  return { amount, currency, description: String(description), customer }
}

/** A form has texts only. */
function numberIn(amount: unknown): unknown {
  return typeof amount === 'string' && /^[1-9]\d{0,15}$/.test(amount) ? Number(amount) : amount
}
