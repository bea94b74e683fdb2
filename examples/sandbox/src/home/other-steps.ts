import { asVariable, curl, type Place, type Section, untilShown } from './steps.js'

export function bankSteps({ at }: Place): Section {
  const withdraw = [
    `curl -i ${at}/sb/v1/withdraw`,
    '-u sk_test_BQokikJOvBiI2HlWgH4olfQ2:',
    '-H "Idempotency-Key: A8Z5MHwQS7jUmZ"',
    '-d amount=2000',
    '-d currency=usd',
    '-d description="test"',
    '-d customer=cus_AGJ6FJMkGQIpHUTX',
  ].join(' \\\n  ')
  const read = `curl -s ${at}/sb/v1/withdrawals/$PAID -u sk_test_BQokikJOvBiI2HlWgH4olfQ2:`
  return {
    id: 'bank',
    title: 'Bank withdrawals',
    about:
      "A form, Basic authentication, and keys of at most 40 characters, after Finastra's published standard. The bank pays out after it has answered, and a retry is told how that stands.",
    badge: 'profile finastra · kept for 24 hours',
    steps: [
      {
        says: 'The example of the standard, but for its host.',
        run: withdraw,
        shows: ['HTTP/1.1 201 Created', '"amount":2000'],
      },
      {
        says: 'A key is not for asking how things stand: read the withdrawal until the bank has paid it out.',
        run: [asVariable('PAID', 'id', withdraw.replace('-i', '-s')), untilShown('"status":"completed"', read)].join(
          '\n',
        ),
        shows: ['PAID is ', '"status":"completed"'],
      },
      {
        says: 'The first line again is answered with 201 again, and with how the withdrawal stands by now. More than twenty times a minute, it is 429.',
        run: withdraw,
        shows: ['HTTP/1.1 201 Created', '"status":"completed"'],
      },
    ],
  }
}

export function notificationSteps(place: Place): Section {
  const body = { to: 'ada@example.com', text: 'Your order has arrived.' }
  const send = { path: '/notifications', key: `note-${place.mark}`, body }
  const later = { ...body, text: 'Time to order again.', sendAt: inThreeDays() }
  return {
    id: 'notifications',
    title: 'Notifications',
    about: 'A row and a job in one transaction: there is none without the other, and a worker does the job once.',
    badge: 'the default profile · kept for 24 hours, from when it is sent',
    steps: [
      {
        says: 'It is on record, and will be sent.',
        run: curl(place, send),
        shows: ['HTTP/1.1 202 Accepted', '"status":"queued"'],
      },
      {
        says: 'A moment later it is.',
        run: [
          asVariable('NOTE', 'id', curl(place, { ...send, flags: '-s' })),
          untilShown('"status":"sent"', curl(place, { path: '/notifications/$NOTE', flags: '-s' })),
        ].join('\n'),
        shows: ['NOTE is ntf_', '"status":"sent"'],
      },
      {
        says: 'One for three days from now. Its key must not be forgotten before, so that it is kept for a day longer than that.',
        run: curl(place, { ...send, key: `later-${place.mark}`, body: later }),
        shows: ['HTTP/1.1 202 Accepted', `"sendAt":"${later.sendAt}"`, 'idempotency-key-expires'],
      },
    ],
  }
}

function inThreeDays(): string {
  const time = new Date()
  time.setUTCDate(time.getUTCDate() + 3)
  return time.toISOString()
}

export function providerSteps(place: Place): Section {
  return {
    id: 'providers',
    title: 'The outside world',
    about:
      'A card processor, Airtm, Trustless Work, a notifier and a bank, simulated in a process of their own. They fail when you tell them to, and what they did is in ledgers that survive whatever is killed.',
    badge: 'no key, no token',
    steps: [
      {
        says: 'What they have done, each effect once.',
        run: `curl -i ${place.at}/_providers/ledger`,
        shows: ['HTTP/1.1 200 OK', '"entries"'],
      },
      {
        says: 'Have the next three notifications fail, and change your mind.',
        run: [
          curl(place, {
            path: '/_providers/faults',
            token: 'none',
            body: { provider: 'notifier', operation: 'send', mode: 'reset', times: 3 },
          }),
          `curl -i -X DELETE ${place.at}/_providers/faults`,
        ].join('\n'),
        shows: ['HTTP/1.1 201 Created', '"cleared":1'],
      },
      {
        says: 'The webhooks of Airtm and Trustless Work, and whether they have arrived.',
        run: `curl -i ${place.at}/_providers/deliveries`,
        shows: ['HTTP/1.1 200 OK', '"deliveries"'],
      },
    ],
  }
}
