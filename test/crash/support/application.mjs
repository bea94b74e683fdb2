/** The application of the crash tests: rides that are charged for, bookings in one transaction, receipts, and webhooks. */
import { engine, inbox } from 'hapax'
import { guard } from 'hapax/fetch'
import { gatewayOf } from './gateway.mjs'
import { gathering } from './gathering.mjs'
import { outboxOf, workersOf } from './outbox.mjs'

export function application({ store, insert }, job) {
  const { scope, lookup } = job
  const gateway = gatewayOf(job)
  const { charge, find, honoursKeyFor } = gateway
  const hapax = engine({ store, effects: outboxOf(gateway, insert), log: () => {} })

  const createRide = hapax.operation('rides.create', { version: 1, retention: '7d' }, async (work, { who }) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insert(tx, 'rides', who))
    const charged = await work.call('charge_created', {
      run: ({ key, signal }) => charge(key, { charge: ride }, signal),
      ...(lookup !== 'none' && { lookup: ({ key }) => find(key) }),
      ...(honoursKeyFor && { honoursKeyFor }),
    })
    return work.commit(({ effect }) => {
      effect('receipt.send', { ride })
      return { status: 201, body: { ride, charged } }
    })
  })

  const bookRide = hapax.operation('rides.book', { version: 1, mode: 'transaction' }, (work, { who }) =>
    work.commit(async ({ tx, effect }) => {
      const ride = await insert(tx, 'rides', who)
      effect('receipt.send', { ride })
      return { status: 201, body: { ride } }
    }),
  )

  const crowd = gathering()

  /** One that knows nothing of `work`: it charges behind our back. Those of a crowd answer together, so that their answers travel together. */
  async function charging(request) {
    const { who } = await request.json()
    await charge(`charge of ${who}`, { charge: who })
    await crowd.isHere(who)
    return Response.json({ charged: who }, { status: 201 })
  }

  const webhooks = inbox({
    hapax,
    provider: 'gateway',
    verify: ({ headers }) => ({ eventId: headers.get('event-id') ?? '' }),
    async handle({ event, tx, evidence }) {
      await insert(tx, 'payments', event.who)
      if (event.charge === undefined) return
      const { key: downstreamKey } = event.charge
      evidence({ downstreamKey, says: 'landed', result: event.charge, why: 'event charge.created' })
    },
  })

  return {
    hapax,
    gateway,
    ...workersOf(hapax),
    rides: guard(hapax, { operation: createRide, scope: () => scope }),
    bookings: guard(hapax, { operation: bookRide, scope: () => scope }),
    charges: guard(hapax, { name: 'charges.create', scope: () => scope }, charging),
    crowd,
    webhooks,
  }
}
