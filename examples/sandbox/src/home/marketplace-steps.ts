import { asVariable, curl, type Place, type Section, untilShown } from './steps.js'

export function marketplaceSteps(place: Place): Section {
  const key = (name: string) => `${name}-${place.mark}`
  const sum = { amount: '100.00', currency: 'USD' }
  const order = {
    buyer_id: 'usr_acme_ada',
    seller_id: 'usr_acme_bo',
    ...sum,
    client_order_ref: `cart-${place.mark}`,
  }
  const topup = { user_id: 'usr_acme_ada', amount: '25.00', currency: 'USD' }
  const payout = { user_id: 'usr_acme_bo', amount: '10.00', currency: 'USD', destination: { ref: 'bank_bo' } }
  const create = { path: '/orders', key: key('order'), body: order }
  const move = (what: string, name = what.replaceAll('/', '-')) =>
    curl(place, { path: `/orders/$ORDER/${what}`, key: key(name) })
  return {
    id: 'marketplace',
    title: 'Marketplace',
    about:
      'Orders whose money waits in escrow. Airtm brings the money in and out, Trustless Work holds it; both are simulated. Keys protect a request, rows protect a thing: what was done is answered as it stands, also to a new key.',
    badge: 'profile marketplace · 24 hours, 7 days, for ever',
    steps: [
      {
        says: 'Who there is, and what each of them may spend.',
        run: curl(place, { path: '/users' }),
        shows: ['HTTP/1.1 200 OK', '"id":"usr_acme_ada"'],
      },
      {
        says: 'Ada buys from Bo. The id of the order goes into a variable.',
        run: asVariable('ORDER', 'order_id', curl(place, { ...create, flags: '-s' })),
        shows: ['ORDER is ord_'],
      },
      {
        says: 'The same order under another key: client_order_ref says that it is the same.',
        run: curl(place, { ...create, key: key('order-again') }),
        shows: ['HTTP/1.1 200 OK', '"status":"ORDER_CREATED"'],
      },
      {
        says: "Set the buyer's money aside, create the escrow, fund it.",
        run: [move('reserve'), move('escrow'), move('escrow/fund')].join('\n'),
        shows: ['"status":"FUNDS_RESERVED"', '"status":"ESCROW_CREATING"', '"status":"ESCROW_FUNDED"'],
      },
      {
        says: 'Release the money to the seller; with a new key it is released already.',
        run: [move('release'), move('release', 'release-again')].join('\n'),
        shows: ['HTTP/1.1 200 OK', '"status":"RELEASED"'],
      },
      {
        says: 'What was released cannot be refunded.',
        run: move('refund'),
        shows: ['HTTP/1.1 409 Conflict', 'ORDER_RELEASED'],
      },
      {
        says: 'Money comes in by a top-up, and a webhook of Airtm says when it is there.',
        run: [
          asVariable(
            'TOPUP',
            'topup_id',
            curl(place, { path: '/topups', key: key('topup'), body: topup, flags: '-s' }),
          ),
          untilShown('"status":"CONFIRMED"', curl(place, { path: '/topups/$TOPUP', flags: '-s' })),
        ].join('\n'),
        shows: ['TOPUP is top_', '"status":"CONFIRMED"'],
      },
      {
        says: 'And goes out by a withdrawal: set aside first, sent once it is committed.',
        run: [
          asVariable(
            'WITHDRAWAL',
            'withdrawal_id',
            curl(place, { path: '/withdrawals', key: key('out'), body: payout, flags: '-s' }),
          ),
          curl(place, { path: '/withdrawals/$WITHDRAWAL/commit', key: key('commit') }),
        ].join('\n'),
        shows: ['WITHDRAWAL is wd_', 'HTTP/1.1 200 OK'],
      },
      {
        says: 'The double-entry ledger: its accounts sum to zero, at any moment.',
        run: curl(place, { path: '/ledger?limit=1' }),
        shows: ['HTTP/1.1 200 OK', '"sum":"0.00"'],
      },
    ],
  }
}
