import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { order, payments, post, topup, withdrawal } from '../sandbox/marketplace-client.js'
import { type Answer, pay, tea } from '../sandbox/payment-client.js'
import { ledger } from '../sandbox/providers-process.js'
import { eventually, get, isReplay, postJson } from '../sandbox/sandbox-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { days, hours, minutes, noon } from './support/times.js'

/** How long each route keeps its answers, and what is done, by the books of the partners, when a key comes back too late. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })

  /** Sends the same thing at these times. */
  async function at(times: readonly number[], send: () => Promise<Answer>): Promise<Answer[]> {
    const answers: Answer[] = []
    for (const ms of times) {
      await sandbox.at(ms)
      answers.push(await send())
    }
    return answers
  }

  test('each route keeps its answers for as long as it says: payouts for a day, orders for a week [S1-043 S1-083]', async () => {
    const published = (await get(sandbox, '/idempotency/policy')).json.routes as readonly Route[]
    for (const [name, path, body, kept] of [
      ['withdrawals.create', '/withdrawals', withdrawal, days],
      ['topups.create', '/topups', topup, days],
      ['orders.create', '/orders', order, 7 * days],
    ] as const) {
      expect(published.find((route) => route.name === name)?.retention.ms).toBe(kept)
      const sent = { key: randomUUID(), body }
      const answers = await at([noon, noon + kept - 1, noon + kept], () => post(sandbox, path, sent))
      expect([name, ...answers.map(isReplay)]).toEqual([name, false, true, false])
      expect(new Set(answers.map(({ json }) => json.id)).size).toBe(2)
      const told = answers.map(({ headers }) => Date.parse(headers.get('idempotency-key-expires') ?? ''))
      expect(told).toEqual([noon + kept, noon + kept, noon + 2 * kept])
    }
  })

  test('after its retention a key is cleaned up, and makes a new request that is marked as one [S1-044]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    await sandbox.at(noon)
    const first = await pay(sandbox, attempt)
    await sandbox.at(noon + days)
    await sandbox.withStore(async (store) => void (await store.reap(1_000)))
    expect(await sandbox.recordOf(attempt.key)).toMatchObject({ status: 'expired', response_body: null })
    const anew = await pay(sandbox, attempt)
    expect([anew.status, isReplay(anew), anew.json.id === first.json.id]).toEqual([201, false, false])
    expect(Date.parse(anew.headers.get('idempotency-key-expires') ?? '')).toBe(noon + 2 * days)
    expect(await sandbox.recordOf(attempt.key)).toMatchObject({ status: 'completed', generation: 2, attempt: 1 })
  })

  test('a retry that comes too late says that it is new, and pays nothing twice that knows itself what was paid [S1-107]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const paid = await at([noon, noon + days + hours], () => pay(sandbox, attempt))
    expect(paid.map(isReplay)).toEqual([false, false])
    const charges = await Promise.all(paid.map(({ json }) => chargesOf(json.id)))
    // Two payments for all to see, each charged under a key of its own.
    expect(charges.map(({ length }) => length)).toEqual([1, 1])
    expect(new Set(charges.map(([charge]) => charge?.key)).size).toBe(2)
    expect(await sandbox.recordOf(attempt.key)).toMatchObject({ generation: 2 })

    await sandbox.at(noon)
    const { id } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
    const commit = { key: randomUUID() }
    const answers = await at([noon, noon + days + hours], () => post(sandbox, `/withdrawals/${id}/commit`, commit))
    expect(answers.map((answer) => [answer.status, isReplay(answer)])).toEqual([
      [200, false],
      [200, false],
    ])
    expect(await payments(sandbox, id)).toHaveLength(1)
  })

  test('a notification for three days from now keeps its key until a day after it is sent, and its header says so [S1-088]', async () => {
    const body = { to: 'ada@example.com', text: 'Time to order again.', sendAt: inDays(3) }
    const attempt = { key: randomUUID() }
    const notify = () => postJson(sandbox, '/notifications', body, attempt)
    const sentTo = async (id: unknown) =>
      (await ledger(sandbox, '?provider=notifier')).filter(({ reference }) => reference === id)

    const [first, ...waiting] = await at([noon, noon + 2 * days, noon + 3 * days - minutes], notify)
    const { id } = first?.json ?? {}
    expect(first).toMatchObject({ status: 202, json: { status: 'queued', sendAt: body.sendAt } })
    expect(waiting.map(isReplay)).toEqual([true, true])
    expect(await sentTo(id)).toEqual([])

    await sandbox.at(noon + 3 * days + minutes)
    await eventually(async () =>
      expect((await get(sandbox, `/notifications/${id}`)).json).toMatchObject({ status: 'sent', sendAt: body.sendAt }),
    )
    const later = await at([noon + 4 * days - hours], notify)
    await sandbox.withStore(async (store) => void (await store.reap(1_000)))
    const answers = [first, ...waiting, ...later, await notify()]
    expect(new Set(answers.map((answer) => answer?.text))).toEqual(new Set([first?.text]))
    expect(await sentTo(id)).toHaveLength(1)
    // By the clock of the node it was a moment less than three days when it came.
    const told = answers.map((answer) => Date.parse(answer?.headers.get('idempotency-key-expires') ?? ''))
    expect(new Set(told).size).toBe(1)
    expect(noon + 4 * days - Number(told[0])).toBeLessThan(minutes)
    expect(Number(told[0])).toBeLessThanOrEqual(noon + 4 * days)

    await sandbox.at(noon + 4 * days)
    await sandbox.withStore(async (store) => void (await store.reap(1_000)))
    const anew = await notify()
    expect([anew.status, isReplay(anew), anew.json.id === id]).toEqual([202, false, false])
  })

  async function chargesOf(id: unknown) {
    return (await ledger(sandbox, '?provider=card&operation=charge')).filter(({ reference }) => reference === id)
  }
})

/** From now on, by the clock on the wall, which the nodes go by. */
function inDays(count: number): string {
  return new Date(Date.now() + count * days).toISOString()
}

interface Route {
  readonly name: string
  readonly retention: { readonly ms: number | null }
}
