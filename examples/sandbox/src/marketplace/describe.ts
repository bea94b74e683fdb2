import { array, type Described, object, page, ref, type System } from '../openapi/described.js'
import { requests, shapes } from './shapes.js'

const wrongState = 'It is not in a state for this, there is not enough money, or another request is at it.'
const declined = 'The partner declined, which is an answer: a retry gets it again.'
const silent = 'The partner gave no answer, or is not there. The same request again goes on with it.'
/** What a request ends in whose partner does not do it. */
const asking = { 402: declined, 502: silent }

export const marketplace: System = {
  name: 'Marketplace',
  about:
    'Orders with escrow: `ORDER_CREATED → FUNDS_RESERVED → ESCROW_CREATING → ESCROW_FUNDING → ESCROW_FUNDED → RELEASED | ' +
    'REFUNDED`. What was done is answered as it stands, also to a new key.',
  asks: 'token',
  errors: 'MarketplaceError',
  schemas: shapes,
  routes: {
    ...reads('topups', 'Topup', 'top-up'),
    'POST /topups': {
      ...created('Topup', 'Ask Airtm for money', 'The top-up is pending, and `confirmation_uri` confirms it.'),
      guardedAs: 'topups.create',
      body: { schema: requests.topup, example: { user_id: 'usr_acme_ada', amount: '25.00', currency: 'USD' } },
      refusals: { ...asking, 404: 'There is no such user.' },
    },
    'POST /topups/{id}/refresh': asked('Topup', 'Ask Airtm how a top-up stands'),
    ...reads('orders', 'Order', 'order'),
    'POST /orders': {
      ...created('Order', 'Create an order', 'The order was created. No money has moved.'),
      guardedAs: 'orders.create',
      body: {
        schema: requests.order,
        example: { buyer_id: 'usr_acme_ada', seller_id: 'usr_acme_bo', amount: '100.00', currency: 'USD' },
      },
      refusals: { 404: 'There is no such user.', 409: 'Another order has this `client_order_ref`.' },
    },
    'POST /orders/{id}/reserve': {
      ...moved('Order', 'orders.reserve', "Set the buyer's money aside"),
      // Nobody else is asked.
      refusals: { 409: wrongState },
    },
    'GET /orders/{id}/escrow': {
      summary: 'The escrow of an order',
      answers: { 200: { means: 'How it stands.', schema: ref('Escrow') } },
    },
    'POST /orders/{id}/escrow': {
      ...created('Escrow', 'Create the escrow of an order', 'Trustless Work has it.'),
      guardedAs: 'orders.escrow.create',
      refusals: { ...asking, 409: wrongState },
    },
    'POST /orders/{id}/escrow/fund': moved('Order', 'orders.escrow.fund', 'Put what was set aside into escrow'),
    'POST /orders/{id}/release': moved('Order', 'orders.release', 'Give the money to the seller'),
    'POST /orders/{id}/refund': moved('Order', 'orders.refund', 'Give the money back to the buyer'),
    'GET /orders/{id}/disputes': {
      summary: 'The dispute of an order',
      answers: { 200: { means: 'One at most.', schema: object({ disputes: array(ref('Dispute')) }) } },
    },
    'POST /orders/{id}/disputes': {
      ...created('Dispute', 'Open a dispute', 'From now on the order ends by a decision only.'),
      guardedAs: 'orders.dispute',
      body: { schema: requests.dispute, optional: true, example: { reason: 'It never came.' } },
      refusals: { ...asking, 409: wrongState },
    },
    ...reads('disputes', 'Dispute', 'dispute'),
    'POST /disputes/{id}/resolve': {
      ...moved('Dispute', 'disputes.resolve', 'Decide a dispute'),
      body: { schema: requests.decision, example: { decision: 'refund' } },
    },
    ...reads('withdrawals', 'Withdrawal', 'withdrawal'),
    'POST /withdrawals': {
      ...created('Withdrawal', 'Set money aside for a withdrawal', 'Nothing leaves before it is committed.'),
      guardedAs: 'withdrawals.create',
      body: {
        schema: requests.withdrawal,
        example: { user_id: 'usr_acme_bo', amount: '10.00', currency: 'USD', destination: { ref: 'bank_bo' } },
      },
      refusals: { 404: 'There is no such user.', 409: 'There is not enough money.' },
    },
    'DELETE /withdrawals/{id}': {
      summary: 'Cancel a withdrawal that is not committed',
      answers: { 200: { means: "It is cancelled, and its money is the user's again.", schema: ref('Withdrawal') } },
      refusals: { 409: 'It was committed before.' },
    },
    'POST /withdrawals/{id}/commit': moved('Withdrawal', 'withdrawals.commit', 'Have Airtm send the money'),
    'POST /withdrawals/{id}/refresh': asked('Withdrawal', 'Ask Airtm how a withdrawal stands'),
  },
}

function reads(table: string, shape: string, one: string): Readonly<Record<string, Described>> {
  return {
    [`GET /${table}`]: {
      summary: `The ${one}s, the last one first`,
      paged: true,
      answers: { 200: { means: 'A page of them.', schema: page(table, ref(shape)) } },
    },
    [`GET /${table}/{id}`]: {
      summary: `One ${one}`,
      answers: { 200: { means: 'How it stands.', schema: ref(shape) } },
    },
  }
}

/** 200 where it was there before. */
function created(shape: string, summary: string, means: string): Described {
  const before = { means: 'There was one already; this is how it stands.', schema: ref(shape) }
  const now = { means, schema: ref(shape), located: true as const }
  // A top-up and a withdrawal have no name by which they could have been there.
  return { summary, answers: shape === 'Topup' || shape === 'Withdrawal' ? { 201: now } : { 200: before, 201: now } }
}

function moved(shape: string, guardedAs: string, summary: string): Described {
  const answers = { 200: { means: 'It was done, now or before; this is how it stands.', schema: ref(shape) } }
  return { summary, guardedAs, answers, refusals: { ...asking, 409: wrongState } }
}

/** Needs no key: however often it is asked, the answer is how things stand. */
function asked(shape: string, summary: string): Described {
  const answers = { 200: { means: 'How it stands.', schema: ref(shape) } }
  return { summary, answers, refusals: { 502: 'Airtm gave no answer.' } }
}
