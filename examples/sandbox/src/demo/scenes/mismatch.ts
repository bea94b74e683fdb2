import type { Scene } from '../scene.js'

export const mismatch: Scene = async ({ client, narrator }) => {
  await narrator.scene('A mismatch', 'The key of the first payment, with another amount.')
  const body = { customerId: 'cus_1', amountCents: 1_201, currency: 'USD' }
  const before = await client.ledger('provider=card')
  const { status, json } = await client.send({ path: '/payments', key: 'order-1', body })
  await narrator.tell(`POST /payments: ${status} ${json.code}`)
  await narrator.check('it is refused with 422', status, 422)
  await narrator.check('nobody was charged', await client.ledger('provider=card'), before)
}
