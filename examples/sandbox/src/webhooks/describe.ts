import { type Described, free, object, type System, text, time } from '../openapi/described.js'

const event = object({
  id: text(255),
  type: text(100),
  createdAt: time,
  provider: text(100),
  data: object({ operation: text(100), key: { type: ['string', 'null'] }, object: free }),
})

export const webhooks: System = {
  name: 'Webhooks',
  about: 'What the partners say. Each event is processed once, and is evidence for the call whose key it names.',
  asks: 'anybody',
  errors: 'Problem',
  schemas: { PartnerEvent: event },
  routes: {
    'POST /webhooks/airtm': hook('Airtm', {
      'webhook-id': 'The id of the event.',
      'webhook-timestamp': 'When it was signed, in seconds.',
      'webhook-signature': 'As Standard Webhooks has it.',
    }),
    'POST /webhooks/trustless-work': hook('Trustless Work', { 'Stripe-Signature': '`t=…,v1=…`' }),
  },
}

function hook(who: string, headers: Readonly<Record<string, string>>): Described {
  const done = object({ status: { const: 'ok' }, duplicate: { type: 'boolean' } }, ['duplicate'])
  return {
    summary: `What ${who} says`,
    headers,
    body: { schema: { $ref: '#/components/schemas/PartnerEvent' } },
    answers: { 200: { means: 'It is processed, now or before.', schema: done } },
    refusals: { 400: 'The event cannot be read.', 401: 'The signature does not fit, or is too old.' },
  }
}
