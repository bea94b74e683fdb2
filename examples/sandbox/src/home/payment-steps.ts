import { curl, type Place, type Section, untilShown } from './steps.js'

export function paymentSteps(place: Place): Section {
  const key = `pay-${place.mark}`
  const body = { customerId: 'cus_1', amountCents: 450, currency: 'USD' }
  const lost = { ...body, amountCents: 900 }
  const paid = { path: '/payments', key, body }
  return {
    id: 'payments',
    title: 'Payments',
    about:
      'A card payment with the plain rules: one key, one payment, one answer. Start here, and look into the ledger of the card processor to see who was charged.',
    badge: 'the default profile · kept for 24 hours',
    steps: [
      {
        says: 'Pay. The key is yours to choose, once per payment.',
        run: curl(place, paid),
        shows: ['HTTP/1.1 201 Created', '"status":"succeeded"'],
      },
      {
        says: 'Pay again: a double click, or a retry because the answer was lost. The same bytes come back, and nobody is charged.',
        run: curl(place, paid),
        shows: ['HTTP/1.1 201 Created', 'idempotent-replayed: true'],
      },
      {
        says: 'Another amount under the same key is not a retry.',
        run: curl(place, { ...paid, body: { ...body, amountCents: 451 } }),
        shows: ['HTTP/1.1 422 Unprocessable Entity', 'idempotency_key_reused_with_different_payload'],
      },
      {
        says: 'To another tenant the same key is another key.',
        run: curl(place, { ...paid, token: 'ohk_test_globex' }),
        shows: ['HTTP/1.1 201 Created', '"status":"succeeded"'],
      },
      {
        says: 'How your key stands. Nobody else is told.',
        run: `curl -i ${place.at}/idempotency/status \\\n  -H 'Authorization: Bearer ohk_test_acme' \\\n  -H 'Idempotency-Key: ${key}'`,
        shows: ['HTTP/1.1 200 OK', '"state":"completed"'],
      },
      {
        says: 'Now let the processor charge the card and then say nothing. Nobody can know whether it did, so the payment is unknown: it is not tried again, the processor is asked. Retry until it is settled.',
        run: [
          curl(place, {
            path: '/_providers/faults',
            token: 'none',
            flags: '-s',
            body: { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' },
          }),
          curl(place, { path: '/payments', key: `${key}-lost`, body: lost }),
          untilShown(
            '"status":"succeeded"',
            curl(place, { path: '/payments', key: `${key}-lost`, body: lost, flags: '-s' }),
          ),
        ].join('\n'),
        shows: ['HTTP/1.1 409 Conflict', 'outcome_unknown', '"status":"succeeded"'],
      },
    ],
  }
}

/** Without providers a payment is recorded, and that is all there is. */
export function recordedSteps(place: Place): Section {
  const { steps, ...section } = paymentSteps(place)
  const recorded = steps.filter(({ run }) => !run.includes('/_providers/'))
  return {
    ...section,
    about:
      'This API was started without its providers, so that payments are recorded, nobody is charged, and everything else answers 503. Start it with `npm start`, or give HAPAX_PROVIDERS_URL, and this page has lines for all of it.',
    steps: recorded.map((step) => ({
      ...step,
      shows: step.shows.map((text) => text.replace('succeeded', 'created')),
    })),
  }
}
