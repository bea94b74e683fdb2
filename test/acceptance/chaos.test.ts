import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type Answer, acme, globex, pay, tea } from '../sandbox/payment-client.js'
import { ledger, tell } from '../sandbox/providers-process.js'
import { retriedUntil } from '../sandbox/sandbox-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { lossyProxy } from './support/lossy-proxy.js'

/** Clients that retry, repeat themselves and lie, on a network that loses half of what it carries. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('half of all answers are lost, and a thousand payments are still a thousand charges [S0-39 S4-01]', async () => {
    const charging = await start({ providers: 'simulated' })
    // It charges whenever it is asked: only we keep it from charging twice.
    const settings = { provider: 'card', honoursKeys: false }
    expect((await tell(charging, 'PUT', '/_providers/settings', { body: settings })).status).toBe(200)
    const network = await lossyProxy(charging)
    const customer = tea()
    let requests = 0
    network.loses(() => (requests++ % 2 === 0 ? 'answer' : 'nothing'))
    const ids: unknown[] = []
    const client = async (payments: number) => {
      for (let payment = 0; payment < payments; payment++) {
        const attempt = { key: randomUUID(), body: customer }
        ids.push((await retriedUntil(201, () => pay(network.sandbox, attempt))).json.id)
      }
    }
    await Promise.all(Array.from({ length: 40 }, () => client(25)))
    expect([requests > 1_500, ids.length, new Set(ids).size]).toEqual([true, 1_000, 1_000])
    expect((await charging.paymentsOf(customer)).sort()).toEqual(ids.sort())
    const charges = await ledger(charging, '?provider=card&operation=charge')
    expect(charges.map(({ reference }) => reference).sort()).toEqual(ids)
    expect(new Set(charges.map(({ amount }) => amount))).toEqual(new Set([customer.amountCents]))
  }, 120_000)

  test('in whatever order clients retry, replay and duplicate, each key has one payment and one answer [S1-051]', async () => {
    const request = fc.record({
      tenant: fc.constantFrom(acme, globex),
      key: fc.integer({ min: 1, max: 3 }),
      amountCents: fc.integer({ min: 1, max: 2 }),
      quoted: fc.boolean(),
    })
    const story = fc.array(fc.array(request, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 })
    const property = fc.asyncProperty(story, async (turns) => {
      const [run, customer] = [randomUUID(), tea()]
      const told = new Map<string, Answer>()
      for (const crowd of turns) {
        const answers = crowd.map(async ({ tenant, key, amountCents, quoted }) => {
          const text = `${run}-${key}`
          const answer = await pay(sandbox, {
            key: quoted ? `"${text}"` : text,
            body: { ...customer, amountCents },
            tenant,
          })
          return { name: `${tenant.authorization} ${key}`, amountCents, answer }
        })
        const all = await Promise.all(answers)
        for (const { name, answer } of all) {
          if (answer.status === 201 && !answer.headers.has('idempotent-replayed')) {
            expect(told.has(name)).toBe(false)
            told.set(name, answer)
          }
        }
        for (const { name, amountCents, answer } of all) {
          const first = told.get(name)
          if (answer.status === 201) expect(answer.text).toBe(first?.text)
          else expect(answer.status).toBe(first?.json.amountCents === amountCents ? 409 : 422)
        }
      }
      expect(await sandbox.paymentsOf(customer)).toHaveLength(told.size)
    })
    await fc.assert(property, { numRuns: 30 })
  })
})
