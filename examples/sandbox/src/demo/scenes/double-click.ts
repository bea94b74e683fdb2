import { chargesFor, type Scene, slowCharge } from '../scene.js'

export const doubleClick: Scene = async (play) => {
  const { client, narrator } = play
  await narrator.scene('A double click', 'Two requests with one key, at the same moment.')
  // So that the second meets the first.
  await slowCharge(play, 400)
  const request = {
    path: '/payments',
    key: 'order-1',
    body: { customerId: 'cus_1', amountCents: 1_200, currency: 'USD' },
  }
  const both = await Promise.all([client.send(request), client.send(request)])
  await narrator.tell(`POST /payments twice: ${both.map(({ status }) => status).join(' and ')}`)
  const paid = both.find(({ status }) => status === 201)
  const again = await client.retry(request, 201)
  await narrator.check('one of them paid', paid !== undefined, true)
  await narrator.check('a retry gets its answer, byte for byte, marked as a replay', again, {
    ...(paid ?? again),
    isReplay: true,
  })
  await narrator.check('the card processor has charged once', await chargesFor(play, again.json.id), 1)
}
