import { chargesFor, type Scene, slowCharge } from '../scene.js'

export const lostResponse: Scene = async (play) => {
  const { client, narrator } = play
  await narrator.scene('A lost response', 'The client is gone before the answer is there. Was it paid?')
  await slowCharge(play, 800)
  const request = {
    path: '/payments',
    key: 'order-2',
    body: { customerId: 'cus_1', amountCents: 2_300, currency: 'USD' },
  }
  const lost = await client.send({ ...request, givesUpAfterMs: 300 }).then(
    ({ status }) => `it got ${status}`,
    () => 'it hears nothing',
  )
  await narrator.tell(`POST /payments, and the client hangs up: ${lost}`)
  const again = await client.retry(request, 201)
  await narrator.tell(`it sends the same again: ${again.status} ${again.json.status}`)
  await narrator.check('that is the answer of the first request', again.isReplay, true)
  await narrator.check('the card processor has charged once', await chargesFor(play, again.json.id), 1)
}
