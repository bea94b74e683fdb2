import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ledger, startProviders, tell } from './providers-process.js'
import { emptyDirectory } from './sandbox-process.js'

test('a ledger that cannot be written any more ends the process: nothing is acknowledged that is not in it', async () => {
  const full = await startProviders(undefined, 'ulimit -f 20')
  const acknowledged: string[] = []
  const fill = async () => {
    while (true) {
      const body = { amountCents: 1, currency: 'usd', description: 'x'.repeat(1_000) }
      const { json } = await tell(full, 'POST', '/card/charges', { key: randomUUID(), body, signal: bound() })
      acknowledged.push(json.id)
    }
  }
  await expect(Promise.any([fill(), fill(), fill()])).rejects.toThrow()
  expect(await full.exited).toBe(1)
  const kept = (await ledger(await startProviders(full.dataDir))).map(({ object }) => object)
  expect(acknowledged.length).toBeGreaterThan(0)
  expect(acknowledged.filter((id) => !kept.includes(id))).toEqual([])
})

const rounds = 8
const clients = 20
/** The fetch of Node 20 now and then settles never, if its server is killed while it connects. */
const bound = () => AbortSignal.timeout(3_000)

test('killed at random moments under twenty clients, the ledgers have all that was acknowledged, and no key twice', async () => {
  const dataDir = await emptyDirectory()
  /** What each key was told, once it was. */
  const charges = new Map<string, string>()
  const payouts = new Set<string>()
  const open = new Set<string>()

  for (let round = 0; round < rounds; round++) {
    const providers = await startProviders(dataDir)
    // What was not answered is sent again, by two clients at once.
    const left = [...open, ...open]
    let isUp = true
    const client = async () => {
      while (isUp) {
        const key = left.pop() ?? randomUUID()
        open.add(key)
        const ride = { amountCents: 2000, currency: 'usd' }
        const charge = await tell(providers, 'POST', '/card/charges', { key, body: ride, signal: bound() })
        expect(charge.status).toBe(201)
        expect(charges.get(key) ?? charge.json.id).toBe(charge.json.id)
        charges.set(key, charge.json.id)
        open.delete(key)
        const body = { amount: '5.00', currency: 'USD', destination: { ref: 'bank_1' } }
        payouts.add((await tell(providers, 'POST', '/airtm/payouts', { key, body, signal: bound() })).json.id)
      }
    }
    const all = Array.from({ length: clients }, () =>
      client().catch((error: unknown) => {
        const isUnanswered = error instanceof TypeError || (error as Error).name === 'TimeoutError'
        if (isUp || !isUnanswered) throw error
      }),
    )
    await delay(Math.random() * 200)
    isUp = false
    await providers.stop('SIGKILL')
    await Promise.all(all)
  }

  const last = await startProviders(dataDir)
  const card = await ledger(last, '?provider=card')
  const airtm = await ledger(last, '?provider=airtm')
  expect(new Set(card.map(({ key }) => key)).size).toBe(card.length)
  const kept = new Map(card.map(({ key, object }) => [key, object]))
  for (const [key, id] of charges) expect([key, kept.get(key)]).toEqual([key, id])
  const paid = new Set(airtm.map(({ object }) => object))
  for (const id of payouts) expect(paid).toContain(id)
  expect(charges.size).toBeGreaterThan(rounds)
  // What was under way is final after all, and has its event.
  const { deliveries } = (await tell(last, 'GET', '/_providers/deliveries')).json
  expect(deliveries).toHaveLength(airtm.length)
}, 60_000)
