import type { FastifyRequest } from 'fastify'
import { chargedCurrencies, isCurrencyInAnyCase } from '../money/currencies.js'
import { amountRange, invalid, isAmount, isObject, isText } from '../web/fields.js'

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
  if (!isObject(body)) throw invalid('The body must be a form, or a JSON object.')
  const { currency, description = '', customer } = body
  const amount = numberIn(body.amount)
  if (!isAmount(amount)) throw invalid(`amount must be ${amountRange}.`)
  if (!isCurrencyInAnyCase(currency)) throw invalid(`currency must be one of ${chargedCurrencies.join(', ')}.`)
  if (description !== '' && !isText(description, most.descriptionLength))
    throw invalid(`description must be a text of at most ${most.descriptionLength} characters.`)
  if (!isText(customer, most.customerLength))
    throw invalid(`customer must be a text of 1 to ${most.customerLength} characters.`)
  return { amount, currency, description: String(description), customer }
}

/** A form has texts only. These have as many digits as the largest amount. */
export const amountInDigits = /^[1-9]\d{0,10}$/

function numberIn(amount: unknown): unknown {
  return typeof amount === 'string' && amountInDigits.test(amount) ? Number(amount) : amount
}
