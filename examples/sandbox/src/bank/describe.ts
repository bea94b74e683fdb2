import { currencyInAnyCase } from '../money/currencies.js'
import { cents, id, object, oneOf, ref, type System, text, time } from '../openapi/described.js'
import { amountInDigits } from './withdrawal-request.js'

const currency = currencyInAnyCase
const description = { type: 'string', maxLength: 255 }
const amount = { anyOf: [cents, { type: 'string', pattern: amountInDigits.source }] }

export const bank: System = {
  name: 'Bank withdrawals',
  about: 'A form, Basic authentication, and keys of at most 40 characters. A retry is answered how it stands by then.',
  asks: 'token or basic',
  errors: 'Problem',
  schemas: {
    BankWithdrawal: object({
      id,
      status: oneOf('pending', 'completed', 'declined'),
      amount: cents,
      currency,
      description,
      customer: text(255),
      createdAt: time,
    }),
  },
  routes: {
    'POST /sb/v1/withdraw': {
      summary: 'Withdraw money',
      guardedAs: 'bank.withdraw',
      body: {
        schema: object({ amount, currency, description, customer: text(255) }, ['description']),
        mediaTypes: ['application/x-www-form-urlencoded', 'application/json'],
        example: { amount: 2000, currency: 'usd', description: 'Rent', customer: 'cus_A8Z5MHwQS7jUmZ' },
      },
      answers: {
        201: {
          means: 'It was taken, now or before; this is how it stands.',
          schema: ref('BankWithdrawal'),
          located: true,
        },
      },
    },
    'GET /sb/v1/withdrawals/{id}': {
      summary: 'A withdrawal',
      answers: { 200: { means: 'How it stands.', schema: ref('BankWithdrawal') } },
    },
  },
}
