import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type Answer, pay, tea } from '../sandbox/payment-client.js'
import { type PostgresTestDatabase, postgresTestDatabase } from '../sandbox/postgres-test-database.js'
import { ledger, type ProvidersProcess, startProviders } from '../sandbox/providers-process.js'
import { retriedUntil } from '../sandbox/sandbox-client.js'
import { atEnd, type SandboxProcess } from '../sandbox/sandbox-process.js'
import { startSupervised } from '../sandbox/supervised-sandbox.js'
import { onPostgres } from '../support/on-postgres.js'
import { type Fate, type PostgresWire, postgresWire } from '../support/postgres-wire.js'
import { type LossyNetwork, lossyNetwork } from './support/lossy-proxy.js'

/**
 * A payment passes three networks: from its client to the API, from there to the database, and to the card processor. Each
 * is cut in the middle of one. The client is told 201, or something that says to retry; in the end there is one charge.
 */
onPostgres('a network that is cut in the middle of a payment', () => {
  let database: PostgresTestDatabase
  let providers: ProvidersProcess
  let sandbox: SandboxProcess
  let wire: PostgresWire
  let clients: LossyNetwork
  let processor: LossyNetwork

  beforeAll(async () => {
    database = await postgresTestDatabase()
    providers = await startProviders()
    wire = await postgresWire(database.url)
    atEnd(() => wire.close())
    processor = await lossyNetwork(providers)
    const env = {
      SANDBOX_LEASE_SECONDS: '3',
      DATABASE_URL: wire.url,
      HAPAX_PROVIDERS_URL: processor.url,
    }
    sandbox = await startSupervised({ env })
    clients = await lossyNetwork(sandbox)
    atEnd(async () => {
      for (const network of [clients, processor]) network.close()
    })
  })

  for (const loss of ['request', 'answer'] as const)
    test(`between client and API, which loses the ${loss}: charged once [S3-67]`, async () => {
      const attempt = { key: randomUUID(), body: tea() }
      clients.loses(() => loss)
      await expect(pay({ ...sandbox, url: clients.url }, attempt)).rejects.toThrow()
      await chargedOnce(attempt)
    })

  for (const loss of ['request', 'answer'] as const)
    test(`between API and card processor, which loses the ${loss}: charged once [S3-67]`, async () => {
      const attempt = { key: randomUUID(), body: tea() }
      let isLost = false
      processor.loses(() => {
        if (isLost) return 'nothing'
        isLost = true
        return loss
      })
      expectRetryable(await pay(sandbox, attempt))
      expect(isLost).toBe(true)
      await chargedOnce(attempt)
    })

  for (const row of ['insert', 'update'] as const)
    for (const fate of ['cut before', 'cut after'] as const)
      for (const what of ['statement', 'commit'] as const)
        test(`between API and database, ${fate} the ${what} that ${row}s the payment: charged once [S3-67]`, async () => {
          const attempt = { key: randomUUID(), body: tea() }
          const cut = cutOnce(row, what, fate)
          const first = await pay(sandbox, attempt)
          // A commit that is only not heard of is settled by asking: the client need not know.
          if (first.status !== 201) expectRetryable(first)
          expect(cut.happened()).toBe(true)
          wire.heal()
          await chargedOnce(attempt)
        })

  /** Cuts the connection of a payment, once, at the statement that writes its row or at the commit behind it. */
  function cutOnce(row: 'insert' | 'update', what: 'statement' | 'commit', fate: Fate) {
    let at: number | undefined
    let isCut = false
    wire.rule(({ text, connection, word }) => {
      const isRow = text.includes('"payments"') && word === row.toUpperCase()
      if (isRow) at = connection
      const isMeant = what === 'statement' ? isRow : word === 'COMMIT' && connection === at
      if (isCut || !isMeant) return 'pass'
      isCut = true
      return fate
    })
    return { happened: () => isCut }
  }

  async function chargedOnce(attempt: { readonly key: string; readonly body: { readonly customerId: string } }) {
    const { json } = await retriedUntil(201, () => pay(sandbox, attempt))
    expect(await database.paymentsOf(attempt.body)).toEqual([json.id])
    const charges = (await ledger(providers, '?provider=card')).filter(({ reference }) => reference === json.id)
    expect(charges).toHaveLength(1)
  }
})

function expectRetryable({ status, headers, json }: Answer): void {
  expect([409, 500, 502, 503]).toContain(status)
  expect(json).toMatchObject({ retryable: true })
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
}
