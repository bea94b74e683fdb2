import { asVariable, curl, type Place, type Section } from './steps.js'

/** The ways of an order that do not end with its seller. */
export function endingSteps(place: Place): Section {
  const key = (name: string) => `${name}-${place.mark}`
  const order = { buyer_id: 'usr_acme_ada', seller_id: 'usr_acme_bo', amount: '40.00', currency: 'USD' }
  const moved = (variable: string, what: string, flags: '-i' | '-s' = '-s', body?: object) =>
    curl(place, {
      path: `/orders/$${variable}/${what}`,
      key: key(`${variable}-${what.replaceAll('/', '-')}`.toLowerCase()),
      flags,
      ...(body !== undefined && { body }),
    })
  const funded = (variable: string) => [
    asVariable(
      variable,
      'order_id',
      curl(place, { path: '/orders', key: key(variable.toLowerCase()), body: order, flags: '-s' }),
    ),
    `${moved(variable, 'reserve')} &&`,
    `${moved(variable, 'escrow')} &&`,
    moved(variable, 'escrow/fund'),
  ]
  const resolve = (name: string, decision: string) =>
    curl(place, { path: '/disputes/$DISPUTE/resolve', key: key(name), body: { decision } })
  return {
    id: 'endings',
    title: 'Refunds and disputes',
    about:
      'An order whose money is in escrow ends with its seller, with its buyer, or by a decision. Money that was set aside goes back by going on: create the escrow, fund it, and refund it.',
    badge: 'profile marketplace · 7 days, disputes for ever',
    steps: [
      {
        says: 'An order of 40.00, set aside and in escrow.',
        run: funded('RETURNED').join('\n'),
        shows: ['RETURNED is ord_', '"status":"ESCROW_FUNDED"'],
      },
      {
        says: 'Give the money back to the buyer.',
        run: moved('RETURNED', 'refund', '-i'),
        shows: ['HTTP/1.1 200 OK', '"status":"REFUNDED"'],
      },
      {
        says: 'Another one is disputed. From then on it is not released by anybody.',
        run: [
          ...funded('DISPUTED'),
          asVariable('DISPUTE', 'dispute_id', moved('DISPUTED', 'disputes', '-s', { reason: 'It never came.' })),
          moved('DISPUTED', 'release', '-i'),
        ].join('\n'),
        shows: ['DISPUTE is dsp_', 'HTTP/1.1 409 Conflict', 'ORDER_DISPUTED'],
      },
      {
        says: 'Decide it for the buyer. Who decides it again is told how it was decided, whatever he says.',
        run: [resolve('resolve', 'refund'), resolve('resolve-again', 'release')].join('\n'),
        shows: ['HTTP/1.1 200 OK', '"status":"RESOLVED"', '"decision":"refund"'],
      },
      {
        says: 'Money that was set aside for a withdrawal comes back as long as nobody has committed it.',
        run: [
          asVariable(
            'KEPT',
            'withdrawal_id',
            curl(place, {
              path: '/withdrawals',
              key: key('kept'),
              body: { user_id: 'usr_acme_bo', amount: '5.00', currency: 'USD', destination: { ref: 'bank_bo' } },
              flags: '-s',
            }),
          ),
          `curl -i -X DELETE "${place.at}/withdrawals/$KEPT" \\\n  -H 'Authorization: Bearer ohk_test_acme'`,
        ].join('\n'),
        shows: ['KEPT is wd_', 'HTTP/1.1 200 OK', '"status":"CANCELLED"'],
      },
    ],
  }
}
