import { chargedCurrencies } from '../money/currencies.js'
import { cents, id, object, oneOf, page, ref, type System, text, time } from '../openapi/described.js'

const currency = oneOf(...chargedCurrencies)
const metadata = {
  type: 'object',
  maxProperties: 50,
  propertyNames: { maxLength: 40 },
  additionalProperties: { type: 'string', maxLength: 500 },
}

export const payments: System = {
  name: 'Payments',
  about: 'A card payment. A charge whose answer was lost is unknown, until the processor has said what became of it.',
  asks: 'token',
  errors: 'Problem',
  schemas: {
    Payment: object({
      id,
      customerId: text(255),
      amountCents: cents,
      currency,
      metadata,
      status: oneOf('created', 'pending', 'succeeded', 'declined'),
      createdAt: time,
    }),
  },
  routes: {
    'POST /payments': {
      summary: 'Charge a card',
      guardedAs: 'payments.create',
      body: {
        schema: object({ customerId: text(255), amountCents: cents, currency, metadata }, ['metadata']),
        example: { customerId: 'cus_1', amountCents: 450, currency: 'USD', metadata: { order: '17' } },
      },
      answers: { 201: { means: 'The payment was made.', schema: ref('Payment'), located: true } },
      refusals: {
        402: 'The card was declined, which is an answer: a retry gets it again.',
        502: 'The card processor is not there, so that nobody was charged. The same request again goes on with it.',
      },
    },
    'GET /payments': {
      summary: 'The payments, the last one first',
      paged: true,
      answers: { 200: { means: 'A page of them.', schema: page('payments', ref('Payment')) } },
    },
    'GET /payments/{id}': {
      summary: 'A payment',
      answers: { 200: { means: 'How it stands.', schema: ref('Payment') } },
    },
  },
}
