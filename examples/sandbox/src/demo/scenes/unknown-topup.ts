import type { Client } from '../client.js'
import type { Scene } from '../scene.js'

/** Nobody listens there. */
const nowhere = 'http://127.0.0.1:9/webhooks/airtm'

export const unknownTopup: Scene = async ({ client, narrator, stage }) => {
  await narrator.scene(
    'A provider that says nothing',
    'Airtm takes a top-up and never answers. It honours no keys, so that asking again would take the money twice.',
  )
  const sendEventsTo = (url: string) => client.tell('PUT', '/_providers/webhooks', { provider: 'airtm', urls: [url] })
  const fault = (operation: string, mode: string, times: number) =>
    client.tell('POST', '/_providers/faults', { provider: 'airtm', operation, mode, times })
  await sendEventsTo(nowhere)
  await fault('payin', 'timeout_after_effect', 1)
  await fault('lookup', 'reset', 1_000)
  const before = (await client.ledger('provider=airtm')).length
  const request = {
    path: '/topups',
    key: 'topup-1',
    body: { user_id: 'usr_acme_ada', amount: '25.00', currency: 'USD' },
  }
  const first = await client.send(request)
  await narrator.tell(`POST /topups, and Airtm can neither answer nor be asked: ${first.status}`)
  await narrator.check(
    'the key is unknown: nobody can know whether the money was taken',
    await stateOf(request.key),
    'unknown',
  )
  const again = await client.send(request)
  await narrator.tell(`the client retries: ${again.status}`)
  const taken = (await client.ledger('provider=airtm')).slice(before)
  await narrator.check('Airtm was asked once, whatever the client does', taken.length, 1)
  await narrator.check('no money has come yet', await balanceOf(client), '10000.00')

  await sendEventsTo(`${stage.url}/webhooks/airtm`)
  await narrator.tell('Airtm is heard again, and delivers its webhook')
  const settled = await client.retry(request, 201)
  await narrator.tell(`the client retries: ${settled.status} ${settled.json.id}`)
  await narrator.check('the key is settled', await stateOf(request.key), 'completed')
  const [entry, ...others] = (await client.ledger('provider=airtm')).slice(before)
  await narrator.check(
    'it is the top-up that Airtm has, and there is no other',
    [entry?.reference, others],
    [settled.json.id, []],
  )
  await narrator.check('the money has come, once', await balanceOf(client), '10025.00')
  await client.tell('DELETE', '/_providers/faults')

  async function stateOf(key: string): Promise<unknown> {
    const headers = { authorization: 'Bearer ohk_test_acme', 'idempotency-key': key }
    const response = await fetch(`${stage.url}/idempotency/status`, { headers })
    return ((await response.json()) as { state?: unknown }).state
  }
}

async function balanceOf(client: Client): Promise<string | undefined> {
  const users = (await client.get('/users')).json.users as { id: string; balances: Record<string, string> }[]
  return users.find(({ id }) => id === 'usr_acme_ada')?.balances.USD
}
