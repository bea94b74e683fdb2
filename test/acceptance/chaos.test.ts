import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { type Answer, acme, globex, pay, tea } from '../sandbox/payment-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { lossyProxy } from './support/lossy-proxy.js'

/** Clients that retry, repeat themselves and lie, on a network that loses half of what it carries. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('half of all answers are lost, and hundreds of payments are still as many payments [S0-39 S4-01]', async () => {
    const network = await lossyProxy(sandbox)
    const customer = tea()
    let requests = 0
    network.loses(() => (requests++ % 2 === 0 ? 'answer' : 'nothing'))
    const each = sandbox.nodes.length === 1 ? 125 : 40
    const ids = new Set<unknown>()
    const client = async (payments: number) => {
      for (let payment = 0; payment < payments; payment++) {
        ids.add((await persistently(network.sandbox, { key: randomUUID(), body: customer })).json.id)
      }
    }
    await Promise.all(Array.from({ length: 8 }, () => client(each)))
    expect(requests).toBeGreaterThan(12 * each)
    expect(ids.size).toBe(8 * each)
    expect(new Set(await sandbox.paymentsOf(customer))).toEqual(ids)
    expect(await sandbox.paymentsOf(customer)).toHaveLength(8 * each)
  }, 60_000)

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

/** What every client should do: the same key until there is an answer. */
async function persistently(api: BlackBox, attempt: { key: string; body: ReturnType<typeof tea> }): Promise<Answer> {
  for (let tries = 0; tries < 1_000; tries++) {
    const answer = await pay(api, attempt).catch(() => undefined)
    if (answer?.status === 201) return answer
  }
  throw new Error('a thousand tries and no answer')
}
