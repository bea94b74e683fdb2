import { chargesFor, type Scene } from '../scene.js'

export const twoTenants: Scene = async (play) => {
  const { client, narrator } = play
  await narrator.scene('Two tenants with one key', 'A key belongs to whoever is authenticated, and to nobody else.')
  const request = {
    path: '/payments',
    key: 'invoice-7',
    body: { customerId: 'cus_1', amountCents: 700, currency: 'USD' },
  }
  const acme = await client.send(request)
  const globex = await client.send({ ...request, token: 'ohk_test_globex' })
  await narrator.tell(`acme gets ${acme.status} ${acme.json.id}`)
  await narrator.tell(`globex gets ${globex.status} ${globex.json.id}`)
  await narrator.check(
    'each has a payment of its own',
    [acme.status, globex.status, acme.text !== globex.text],
    [201, 201, true],
  )
  const charges = [await chargesFor(play, acme.json.id), await chargesFor(play, globex.json.id)]
  await narrator.check('the card processor has charged each of them once', charges, [1, 1])
  const peek = await client.get(`/payments/${acme.json.id}`, 'ohk_test_globex')
  await narrator.check('the payment of acme does not exist for globex', peek.status, 404)
}
