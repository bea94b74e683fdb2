import { asVariable, curl, type Place, type Section, untilShown } from './steps.js'

export function rideSteps(place: Place): Section {
  const key = `ride-${place.mark}`
  const places = { origin: { lat: 52.52, lon: 13.405 }, destination: { lat: 52.37, lon: 9.73 } }
  const body = { ...places, amountCents: 2000, currency: 'usd' }
  const ride = { path: '/rides', key, body }
  const cut = { ...ride, key: `${key}-cut`, body: { ...body, amountCents: 3100 } }
  return {
    id: 'rides',
    title: 'Rides',
    about:
      'An operation in phases: the ride, the charge, the receipt. Whatever is killed in between, it goes on behind the last phase that was committed.',
    badge: 'profile stripe · kept for 24 hours',
    steps: [
      {
        says: 'Take a ride.',
        run: curl(place, ride),
        shows: ['HTTP/1.1 201 Created', '"status":"paid"'],
      },
      {
        says: 'Errors are written as Stripe writes them, those of keys too.',
        run: curl(place, { ...ride, body: { ...body, amountCents: 2001 } }),
        shows: ['HTTP/1.1 400 Bad Request', '"type":"idempotency_error"'],
      },
      {
        says: 'Kill the API in the middle of a charge, on the machine where it runs. It is started again; retry, and once the lease of the dead process is over (30 seconds), the ride is finished.',
        run: [
          curl(place, {
            path: '/_providers/faults',
            token: 'none',
            flags: '-s',
            body: { provider: 'card', operation: 'charge', mode: 'slow', ms: 60_000 },
          }),
          `${curl(place, { ...cut, flags: '-s' })} &\nsleep 1`,
          `kill -9 $(curl -s ${place.at}/_sandbox/process | sed 's/.*"pid":\\([0-9]*\\).*/\\1/')`,
          untilShown('"status":"paid"', curl(place, { ...cut, flags: '-s' })),
        ].join('\n'),
        shows: ['"status":"paid"', '"amountCents":3100'],
      },
      {
        says: 'The ledger of the card processor has one charge for the ride that was cut off.',
        run: [
          asVariable('RIDE', 'id', curl(place, { ...cut, flags: '-s' })),
          `echo charged: $(curl -s "${place.at}/_providers/ledger?provider=card" | grep -o "$RIDE" | wc -l)`,
        ].join('\n'),
        shows: ['RIDE is ride_', 'charged: 1'],
      },
    ],
  }
}
