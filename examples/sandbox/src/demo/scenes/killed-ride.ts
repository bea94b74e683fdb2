import { chargesFor, type Scene, slowCharge } from '../scene.js'

export const killedRide: Scene = async (play) => {
  const { client, narrator, stage } = play
  await narrator.scene('The API is killed in the middle of a ride', 'After the card was charged, before anybody knows.')
  // The processor charges at once, and takes its time to say so.
  await slowCharge(play, 60_000)
  const place = { origin: { lat: 52.52, lon: 13.405 }, destination: { lat: 52.37, lon: 9.73 } }
  const request = { path: '/rides', key: 'ride-1', body: { ...place, amountCents: 4_500, currency: 'usd' } }
  const cut = client.send(request).then(
    ({ status }) => `answered with ${status}`,
    () => 'cut off',
  )
  const begun = await client.until('the ride is charged', async () => {
    const rides = (await client.get('/rides')).json.rides as { id: string; amountCents: number; status: string }[]
    const ride = rides.find(({ amountCents }) => amountCents === request.body.amountCents)
    return ride !== undefined && (await chargesFor(play, ride.id)) > 0 ? ride : undefined
  })
  await narrator.tell(`POST /rides: the ride is on record (${begun.status}), and its card is charged`)
  const pid = await pidOf()
  process.kill(pid, 'SIGKILL')
  await narrator.tell(`kill -9 ${pid}: the request is ${await cut}`)
  const next = await client.until('another process serves', async () => {
    const now = await pidOf()
    return now === pid ? undefined : now
  })
  await narrator.tell(
    `process ${next} is there in its place; the client retries until the lease of ${stage.leaseSeconds} s is over`,
  )
  const ride = await client.retry(request, 201)
  await narrator.tell(`POST /rides: ${ride.status} ${ride.json.status}`)
  await narrator.check(
    'it is the ride that was begun, now finished',
    [ride.json.id, ride.json.status],
    [begun.id, 'paid'],
  )
  await narrator.check('the card processor has charged once', await chargesFor(play, begun.id), 1)
  const receipts = await client.until('a receipt is sent', async () => {
    const sent = (await client.ledger('provider=notifier')).filter(({ reference }) => reference === begun.id)
    return sent.length > 0 ? sent : undefined
  })
  await narrator.check('one receipt was sent', receipts.length, 1)

  async function pidOf(): Promise<number> {
    return Number((await client.get('/_sandbox/process')).json.pid)
  }
}
