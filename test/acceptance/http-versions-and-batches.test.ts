import { type Item, isHapaxError, runEach } from 'hapax'
import { describe, expect, test } from 'vitest'
import { type Api, api } from './support/http-api.js'
import { adapters, json } from './support/http-site.js'

/** Requests that say more than their body, and requests that are many. */

describe.each(adapters)('on %s', (adapter) => {
  const version = (text: string) => ({ headers: { 'API-Version': text } })

  test('where a route compares the version of the API, the same body under another version is another request [G-19]', async () => {
    const strategy = { kind: 'whole', headers: ['API-Version'] } as const
    const { ask, rows, runs } = await api(adapter, { routes: [{ options: { fingerprint: { strategy } } }] })
    expect((await ask(version('2026-01-01'))).status).toBe(201)
    const before = rows()
    expect((await ask(version('2026-06-01'))).status).toBe(422)
    expect((await ask()).status).toBe(422)
    expect([rows(), runs()]).toEqual([before, 1])
    expect(await ask(version('2026-01-01'))).toMatchObject({ status: 201, replayed: true })
    expect((await ask({ key: 'no-version' })).status).toBe(201)
    expect((await ask({ key: 'no-version', ...version('2026-01-01') })).status).toBe(422)
    expect(await ask({ key: 'no-version' })).toMatchObject({ status: 201, replayed: true })
  })

  test('where it does not, a retry by a client that was upgraded in between is a retry [G-19]', async () => {
    const { ask, runs } = await api(adapter)
    expect((await ask(version('2026-01-01'))).status).toBe(201)
    expect(await ask(version('2026-06-01'))).toMatchObject({ status: 201, replayed: true })
    expect(runs()).toBe(1)
  })

  test('in a batch every item has a key of its own: a retry runs only what has not run, and tells of each what became of it [G-21]', async () => {
    const { pay, paid, lose } = await bank(adapter)
    const [one, two, three] = [item('p-1', 100), item('p-2', 200), item('p-3', 300)]
    lose('p-2')
    expect(await pay([one, two, three])).toEqual(['paid 100', 'failed', 'paid 300'])
    expect(await pay([one, two, three])).toEqual(['replayed 100', 'paid 200', 'replayed 300'])
    expect(paid).toEqual([100, 300, 200])
  })

  test('an item is the same one in another batch, in another order, and twice in one batch [G-21]', async () => {
    const { pay, paid } = await bank(adapter)
    const [one, two, three] = [item('p-1', 100), item('p-2', 200), item('p-3', 300)]
    expect(await pay([one, one, two])).toEqual(['paid 100', 'replayed 100', 'paid 200'])
    expect(await pay([three, two, one])).toEqual(['paid 300', 'replayed 200', 'replayed 100'])
    expect([...paid].sort()).toEqual([100, 200, 300])
  })

  test('an item that was changed is refused alone, and so is a key that is none; the others are not concerned [G-21]', async () => {
    const { pay, paid } = await bank(adapter)
    expect(await pay([item('p-1', 100)])).toEqual(['paid 100'])
    expect(await pay([item('p-1', 999), item('', 5), item('p-2', 200)])).toEqual([
      'idempotency_key_reused_with_different_payload',
      'idempotency_key_missing',
      'paid 200',
    ])
    expect(paid).toEqual([100, 200])
  })
})

interface Payment extends Item {
  readonly input: { readonly cents: number }
}

function item(key: string, cents: number): Payment {
  return { key, input: { cents } }
}

/** An endpoint that takes many payments in one POST, which itself has no key. */
async function bank(adapter: string) {
  const paid: number[] = []
  const lost = new Set<string>()
  const given: Api = await api(adapter, {
    routes: [
      { path: '/batch', options: { methods: ['PATCH'] }, handler: async (_runs, body) => json(200, await all(body)) },
    ],
  })

  async function all(body: Uint8Array): Promise<string[]> {
    const { hapax } = given
    const items = JSON.parse(Buffer.from(body).toString()) as Payment[]
    const policy = hapax.policy({ name: 'payments.create' })
    const results = await runEach(hapax, { scope: 'acme', policy, items }, async (_work, { key, input }) => {
      if (lost.delete(key)) throw new Error('the connection was lost')
      paid.push(input.cents)
      return input.cents
    })
    return results.map((result) => {
      if (result.kind === 'done') return `${result.replayed ? 'replayed' : 'paid'} ${result.value}`
      return result.kind === 'failed' && isHapaxError(result.error) ? result.error.code : 'failed'
    })
  }

  return {
    paid,
    lose: (key: string) => lost.add(key),
    async pay(items: readonly Payment[]): Promise<string[]> {
      const { text } = await given.ask({ path: '/batch', key: undefined, body: JSON.stringify(items) })
      return JSON.parse(text)
    },
  }
}
