import { engine, type LookedUp } from 'hapax'
import { adminApi, everything, type Operator } from 'hapax/admin'
import { memoryStore } from 'hapax/memory'
import { expect, onTestFinished, test } from 'vitest'
import { manualClock } from '../support/manual-clock.js'

/** "Reconcile now": what is looked at, what came of it, and what is written down. */

async function site(lookup: (key: string) => LookedUp<string> | undefined) {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const options = { store, log: () => {}, clock }
  const hapax = engine(options)
  let operator: Operator = { who: 'ann', may: everything }
  const api = adminApi({ hapax, authorize: () => operator })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
  })
  const asked: string[] = []
  const operation = hapax.operation('payments.create', { version: 1 }, async (work, input: string) => {
    await work.call('charged', {
      run: () => Promise.reject(new Error('ECONNRESET')),
      lookup: () => {
        asked.push(input)
        return lookup(input)
      },
    })
    return { status: 201 }
  })
  const doubtful = (scope: string, key: string) =>
    hapax.perform({ scope, key, operation, input: `${scope} ${key}` }).catch(() => {})
  const post = async (path: string, body: object, to = api) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() }
    const response = await to(
      new Request(`http://admin${path}`, { method: 'POST', body: JSON.stringify(body), headers }),
    )
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  return {
    hapax,
    options,
    clock,
    asked,
    doubtful,
    post,
    as: (who: Operator) => {
      operator = who
    },
  }
}

const landed = (): LookedUp<string> => ({ landed: true, result: 'ch_1' })
const acme = { scope: 'acme', key: 'k', reason: 'a test' }

test('looks at the named record and at no other, however many are due before it', async () => {
  const { doubtful, asked, post, as, clock, hapax } = await site(landed)
  for (let count = 0; count < 70; count++) await doubtful('globex', `k-${count}`)
  await doubtful('acme', 'k')
  await clock.advance(60_000)
  as({ who: 'bob', may: { reconcile: ['acme'] } })
  const looked = await post('/records/reconcile', acme)
  expect(looked).toMatchObject({
    status: 200,
    json: {
      came: { settled: 1 },
      record: { scope: 'acme', key: 'k', state: 'failed_retryable' },
      audit: [{ action: 'reconcile', scope: 'acme' }],
    },
  })
  expect(asked).toEqual(['acme k'])
  const { records } = await hapax.operating.list({ limit: 100, tenant: 'globex', state: 'unknown' })
  expect(records).toHaveLength(70)
})

test('says what really came: an outage, nothing yet, or a look that is left to a person', async () => {
  let says: () => LookedUp<string> | undefined = () => {
    throw new Error('ECONNREFUSED')
  }
  const { doubtful, post, hapax } = await site(() => says())
  await doubtful('acme', 'k')
  expect((await post('/records/reconcile', acme)).json.came).toEqual({ outage: 1 })
  says = () => undefined
  expect((await post('/records/reconcile', acme)).json.came).toEqual({ put_off: 1 })
  const policy = hapax.policy({ name: 'mails.send' })
  await hapax.run({ scope: 'acme', key: 'm', policy }, async (work) => work.doubt('silent')).catch(() => {})
  expect((await post('/records/reconcile', { ...acme, key: 'm' })).json.came).toEqual({ left_to_operator: 1 })
  expect(await post('/records/reconcile', { ...acme, key: 'x' })).toMatchObject({ status: 404 })
})

test('is refused where the code of the operation is not known, and leaves the doubt as it was', async () => {
  const { doubtful, post, hapax, options } = await site(landed)
  await doubtful('acme', 'k')
  const before = (await hapax.operating.list({ limit: 9, state: 'unknown' })).records
  const elsewhere = engine(options)
  const api = adminApi({ hapax: elsewhere, authorize: () => ({ who: 'ann', may: everything }) })
  onTestFinished(() => api.close())
  expect(await post('/records/reconcile', acme, api)).toMatchObject({ status: 409, json: { code: 'kind_unknown' } })
  expect((await hapax.operating.list({ limit: 9, state: 'unknown' })).records).toEqual(before)
})

test('each record that is looked at with all others has its own entry, written before it is settled', async () => {
  const { doubtful, post, clock, hapax } = await site(landed)
  for (const scope of ['acme', 'globex']) for (const key of ['k', 'l']) await doubtful(scope, key)
  await clock.advance(60_000)
  const { json } = await post('/reconcile', { reason: 'the provider is back' })
  expect(json.came).toEqual({ settled: 4 })
  const audit = json.audit as { subject: string; scope: string; before: object; after: object }[]
  const [all, ...each] = audit
  expect(all).toMatchObject({ sequence: 1, action: 'reconcile', subject: 'all', scope: '' })
  expect(each.map(({ scope }) => scope).sort()).toEqual(['acme', 'acme', 'globex', 'globex'])
  for (const entry of each)
    expect(entry).toMatchObject({
      who: 'ann',
      why: 'the provider is back',
      action: 'reconcile',
      subject: expect.stringMatching(/^record:[0-9a-f]{32}$/),
      // Not settled yet: what came of it is in the record's evidence.
      before: { state: 'unknown' },
      after: { state: 'unknown', looked_at_next: expect.stringMatching(/^2.*Z$/) },
    })
  expect(new Set(each.map(({ subject }) => subject)).size).toBe(4)
  expect((await hapax.operating.audit?.list({ limit: 9 }))?.entries).toHaveLength(5)
})
