import { expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { initech, withdraw } from './bank-client.js'
import { ask } from './payment-client.js'
import { postgresTestDatabase, select } from './postgres-test-database.js'
import { ledger, startProviders } from './providers-process.js'
import { eventually, fault, get, isReplay, postJson, retriedUntil, trip } from './sandbox-client.js'
import { apiOf, startSupervised } from './supervised-sandbox.js'

/** Two nodes with one database and one outside world. */
async function twoNodes() {
  const { url } = await postgresTestDatabase()
  const providers = await startProviders()
  const env = { SANDBOX_LEASE_SECONDS: '3', DATABASE_URL: url, HAPAX_PROVIDERS_URL: providers.url }
  return { url, providers, a: await startSupervised({ env }), b: await startSupervised({ env }) }
}

onPostgres('the systems of the sandbox on PostgreSQL', () => {
  test('a ride of a node that is gone is finished by the other one, once, and its receipt is sent', async () => {
    const { providers, a, b } = await twoNodes()
    await fault(a, { provider: 'card', operation: 'charge', mode: 'slow', ms: 60_000 })
    const cut = postJson(a, '/rides', trip, { key: 'k' }).catch(() => 'cut off')
    await eventually(async () => expect(await ledger(providers, '?provider=card')).toHaveLength(1))
    const { pid } = await apiOf(a)
    // The parent first, so that nobody starts it again.
    a.child.kill('SIGKILL')
    process.kill(pid, 'SIGKILL')
    expect(await cut).toBe('cut off')
    const { json } = await retriedUntil(201, () => postJson(b, '/rides', trip, { key: 'k' }))
    expect(json).toMatchObject({ ...trip, status: 'paid' })
    await eventually(async () => expect((await get(b, `/rides/${json.id}`)).json.receipt).toBe('sent'))
    expect((await get(b, '/rides')).json.rides).toHaveLength(1)
    expect(await ledger(providers, '?provider=card')).toMatchObject([{ reference: json.id, amount: 2000 }])
    expect(await ledger(providers, '?provider=notifier')).toHaveLength(1)
  })

  test('of many withdrawals and notifications each is carried out once, whichever node does it', async () => {
    const { url, providers, a, b } = await twoNodes()
    const hello = { to: 'ada@example.com', text: 'hello' }
    const numbers = Array.from({ length: 10 }, (_, number) => number)
    const answers = await Promise.all(
      numbers.flatMap((number) => [
        withdraw(number % 2 ? a : b, { key: `w${number}` }),
        postJson(number % 2 ? a : b, '/notifications', hello, { key: `n${number}` }),
      ]),
    )
    expect(answers.filter(({ status }) => status !== 201 && status !== 202)).toEqual([])
    await eventually(async () => {
      const open = await select(
        url,
        `SELECT id FROM sandbox.bank_withdrawals WHERE status <> 'completed'
         UNION ALL SELECT id FROM sandbox.notifications WHERE status <> 'sent'`,
      )
      expect(open).toEqual([])
    })
    for (const provider of ['bank', 'notifier']) {
      const references = (await ledger(providers, `?provider=${provider}`)).map(({ reference }) => reference)
      expect([references.length, new Set(references).size]).toEqual([10, 10])
    }
    const again = await withdraw(a, { key: 'w0' })
    expect([again.status, again.json.status, isReplay(again)]).toEqual([201, 'completed', true])
    expect((await ask(b, `/sb/v1/withdrawals/${again.json.id}`, { headers: initech })).json).toEqual(again.json)
  })
})
