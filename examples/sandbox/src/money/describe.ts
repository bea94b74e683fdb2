import { array, id, object, ref, type System, text, time } from '../openapi/described.js'
import { currencies } from './currencies.js'

const currency = { type: 'string', enum: [...currencies] }
/** Of a balance, which may be below zero. */
const balance = { type: 'string', pattern: '^-?\\d+\\.\\d{2}$' }

export const money: System = {
  name: 'Money',
  about: 'Who there is, and a double-entry ledger whose accounts sum to zero at any moment.',
  asks: 'token',
  errors: 'Problem',
  schemas: {
    User: object({ id, name: text(100), balances: { type: 'object', additionalProperties: balance } }),
    Transfer: object({
      id,
      cause: text(255),
      created_at: time,
      entries: array(object({ account: text(255), currency, amount: balance })),
    }),
    Ledger: object(
      {
        sum: { ...balance, description: 'How far the currencies are from zero, together: 0.00.' },
        sums: { type: 'object', additionalProperties: balance },
        accounts: array(object({ account: text(255), currency, balance })),
        transfers: array(ref('Transfer')),
        next: id,
      },
      ['next'],
    ),
  },
  routes: {
    'GET /users': {
      summary: 'The users of the tenant, and what each may spend',
      answers: { 200: { means: 'All of them.', schema: object({ users: array(ref('User')) }) } },
    },
    'GET /ledger': {
      summary: 'The accounts, their sum, and the transfers',
      paged: true,
      answers: { 200: { means: 'All accounts, and a page of transfers.', schema: ref('Ledger') } },
    },
  },
}
