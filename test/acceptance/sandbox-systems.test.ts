import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { asked, withdraw } from '../sandbox/bank-client.js'
import { acme, ask, globex, pay } from '../sandbox/payment-client.js'
import { ledger } from '../sandbox/providers-process.js'
import { eventually, fault, get, isReplay, postJson, retriedUntil, trip } from '../sandbox/sandbox-client.js'
import { apiOf, untilRestarted } from '../sandbox/supervised-sandbox.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** The systems of the seeds as `npm start` serves them, with providers that are processes of their own. */

const posts: Readonly<Record<string, unknown>> = {
  '/payments': { customerId: 'cus_1', amountCents: 450, currency: 'USD' },
  '/rides': trip,
  '/notifications': { to: 'ada@example.com', text: 'hello' },
  '/sb/v1/withdraw': { ...asked, amount: 2000 },
}

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
  })

  for (const [path, body] of Object.entries(posts))
    test(`POST ${path} is refused without a key, and with one it runs once [S0-30]`, async () => {
      const headers = { ...acme, 'content-type': 'application/json' }
      const keyless = await ask(sandbox, path, { method: 'POST', headers, body: JSON.stringify(body) })
      expect([keyless.status, keyless.text]).toEqual([400, expect.stringContaining('idempotency_key_missing')])
      const key = randomUUID()
      const first = await postJson(sandbox, path, body, { key })
      const again = await postJson(sandbox, path, body, { key })
      expect([first.status, isReplay(first)]).toEqual([again.status, false])
      expect([again.json.id, isReplay(again)]).toEqual([first.json.id, true])
    })

  test('the bank takes the key and the form of the published example, and forty characters, not more [S0-05 S0-12 S0-34]', async () => {
    const first = await withdraw(sandbox, { key: 'A8Z5MHwQS7jUmZ' })
    expect([first.status, isReplay(await withdraw(sandbox, { key: 'A8Z5MHwQS7jUmZ' }))]).toEqual([201, true])
    const changed = await withdraw(sandbox, { key: 'A8Z5MHwQS7jUmZ', form: { ...asked, amount: '2001' } })
    expect(changed.status).toBe(422)
    expect((await withdraw(sandbox, { key: 'x'.repeat(40) })).status).toBe(201)
    expect((await withdraw(sandbox, { key: 'x'.repeat(41) })).status).toBe(400)
  })

  test('the pairs of a form are the same request in any order and spelling, and another one with another pair [S0-34]', async () => {
    const form = (pairs: readonly string[]) => withdraw(sandbox, { key: 'in-any-order', form: pairs.join('&') })
    const pairs = ['amount=2000', 'currency=usd', 'description=for+tea', 'customer=cus_AGJ6FJMkGQIpHUTX']
    const first = await form(pairs)
    expect([first.status, isReplay(first)]).toEqual([201, false])
    for (const same of [[...pairs].reverse(), pairs.map((pair) => pair.replace('+', '%20').replace('usd', 'us%64'))]) {
      const again = await form(same)
      expect([again.status, again.json.id, isReplay(again)]).toEqual([201, first.json.id, true])
    }
    for (const other of [
      [...pairs, 'note=x'],
      pairs.slice(0, 2).concat(pairs.slice(3)),
      ['amount=2001', ...pairs.slice(1)],
    ])
      expect([other, (await form(other)).status]).toEqual([other, 422])
    // No choice of names and values makes two forms one.
    expect(
      (await form(['amount=2000', 'currency=usd', 'description=for tea%26customer%3Dx', 'customer=y'])).status,
    ).toBe(422)
  })

  test('a repeat at the bank answers 201 with the status by then, and makes nothing [S0-22 S0-23]', async () => {
    const { json } = await withdraw(sandbox, { key: 'status' })
    expect(json.status).toBe('pending')
    const repeat = () => withdraw(sandbox, { key: 'status' })
    await eventually(async () => expect((await repeat()).json).toEqual({ ...json, status: 'completed' }))
    expect((await repeat()).status).toBe(201)
    const paid = (await ledger(sandbox, '?provider=bank')).filter(({ reference }) => reference === json.id)
    expect(paid).toHaveLength(1)
  })

  test('a key at the bank is not for polling: after twenty replays a minute it is 429, and a GET tells how it stands [S0-24]', async () => {
    // Each node counts for itself.
    const [node] = sandbox.nodes
    if (node === undefined) throw new Error('there is no node')
    const poll = () => withdraw(node, { key: 'polled', client: acme })
    const first = await poll()
    const statuses: number[] = []
    while (statuses.length < 25) statuses.push((await poll()).status)
    expect(statuses).toEqual([...Array(20).fill(201), ...Array(5).fill(429)])
    const refused = await poll()
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_exceeded' } })
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
    expect(refused.text).toMatch(/look at the resource itself/)
    const path = String(first.headers.get('location'))
    for (let time = 0; time < 30; time++) expect((await get(node, path)).json.id).toBe(first.json.id)
    expect((await withdraw(node, { key: 'not-polled', client: acme })).status).toBe(201)
    await eventually(async () => expect((await get(sandbox, path)).json.status).toBe('completed'))
    const paid = (await ledger(sandbox, '?provider=bank')).filter(({ reference }) => reference === first.json.id)
    expect(paid).toHaveLength(1)
  })

  test('one key and one body of other credentials: of another tenant it is another request, of the same one a retry [S1-098]', async () => {
    const key = randomUUID()
    const basic = { authorization: `Basic ${btoa('ohk_test_acme:')}` }
    const made = [await withdraw(sandbox, { key }), await withdraw(sandbox, { key, client: acme })]
    made.push(await withdraw(sandbox, { key, client: globex }))
    expect(made.map((answer) => [answer.status, isReplay(answer)])).toEqual(made.map(() => [201, false]))
    expect(new Set(made.map(({ json }) => json.id)).size).toBe(3)
    const again = await withdraw(sandbox, { key, client: basic })
    expect([again.status, isReplay(again), again.json.id]).toEqual([201, true, made[1]?.json.id])
    const scopes = (await sandbox.recordsOf(key)).map(({ scope_id }) => scope_id)
    expect(scopes.sort()).toEqual(['acme', 'globex', 'initech'])
    expect((await get(sandbox, '/idempotency/policy')).json.scoped_by).toBe('tenant')
  })

  test('a changed body at the bank is an error, and changes nothing [S0-14 S0-20]', async () => {
    const { json } = await withdraw(sandbox, { key: 'changed', client: acme })
    expect((await withdraw(sandbox, { key: 'changed', client: acme, form: { ...asked, amount: '1' } })).status).toBe(
      422,
    )
    expect((await get(sandbox, `/sb/v1/withdrawals/${json.id}`)).json.amount).toBe(2000)
  })

  test('what is refused before it ran takes no key: mended, it runs under the same [S0-11]', async () => {
    const key = randomUUID()
    expect((await postJson(sandbox, '/rides', { ...trip, amountCents: 0 }, { key })).status).toBe(400)
    const nobody = { authorization: 'Bearer nobody' }
    expect((await postJson(sandbox, '/rides', trip, { key, tenant: nobody })).status).toBe(401)
    expect((await postJson(sandbox, '/rides', trip, { key })).status).toBe(201)
  })

  test('a ride answers another request under its key, and one that runs, in the words of Stripe [S3-11 S3-12]', async () => {
    const key = randomUUID()
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_000 })
    const running = postJson(sandbox, '/rides', trip, { key })
    await untilRunning(sandbox, key)
    const met = await postJson(sandbox, '/rides', trip, { key })
    expect(met).toMatchObject({ status: 409, json: { error: { code: 'idempotency_key_in_use' } } })
    expect((await running).status).toBe(201)
    const other = await postJson(sandbox, '/rides', { ...trip, amountCents: 1 }, { key })
    expect(other).toMatchObject({ status: 400, json: { error: { type: 'idempotency_error' } } })
  })

  test('the same key of two tenants is two rides, and neither is shown the other [S0-18 S3-63]', async () => {
    const key = randomUUID()
    const mine = await postJson(sandbox, '/rides', trip, { key })
    const theirs = await postJson(sandbox, '/rides', trip, { key, tenant: globex })
    expect([mine.status, theirs.status, isReplay(theirs)]).toEqual([201, 201, false])
    expect((await get(sandbox, `/rides/${mine.json.id}`, globex)).status).toBe(404)
  })

  test('a worker killed in the middle of a ride: the retry goes on behind the last phase, and charges once [S3-07 S3-42 S3-71]', async () => {
    const own = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
    await fault(own, { provider: 'card', operation: 'charge', mode: 'slow', ms: 60_000 })
    const cut = postJson(own, '/rides', trip, { key: 'k' }).catch(() => 'cut off')
    await eventually(async () => expect(await ledger(own, '?provider=card')).toHaveLength(1))
    await killed(own)
    expect(await cut).toBe('cut off')
    const { json } = await retriedUntil(201, () => postJson(own, '/rides', trip, { key: 'k' }))
    expect(await ledger(own, '?provider=card')).toMatchObject([
      { operation: 'charge', amount: 2000, reference: json.id },
    ])
  })

  test('a time-out of the card processor is unknown, never run again blindly, and settled by asking it [S2-007 S2-023 S2-119]', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    expect(await pay(sandbox, { key: 'unsure' })).toMatchObject({ status: 409, json: { code: 'outcome_unknown' } })
    const { json } = await retriedUntil(201, () => pay(sandbox, { key: 'unsure' }))
    const charges = (await ledger(sandbox, '?provider=card')).filter(({ reference }) => reference === json.id)
    expect(charges).toHaveLength(1)
  })

  test('a notification is answered when its row and its job are there; a worker does the job, and writes that down [S1-003 S1-018 S1-055]', async () => {
    await fault(sandbox, { provider: 'notifier', operation: 'send', mode: 'slow', ms: 1_000 })
    const first = await postJson(sandbox, '/notifications', posts['/notifications'], { key: 'golden' })
    const path = `/notifications/${first.json.id}`
    expect([first.json.status, (await get(sandbox, path)).json.status]).toEqual(['queued', 'queued'])
    await eventually(async () => expect((await get(sandbox, path)).json.status).toBe('sent'))
    const again = await postJson(sandbox, '/notifications', posts['/notifications'], { key: 'golden' })
    expect([again.text, isReplay(again)]).toEqual([first.text, true])
  })

  test('a worker killed when its message was sent and not yet written down: another one finds out, and sends none [S1-037 S1-103]', async () => {
    const own = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '2' } })
    await fault(own, { provider: 'notifier', operation: 'send', mode: 'slow', ms: 60_000 })
    const { json } = await postJson(own, '/notifications', posts['/notifications'])
    await eventually(async () => expect(await ledger(own, '?provider=notifier')).toHaveLength(1))
    await killed(own)
    await eventually(async () => expect((await get(own, `/notifications/${json.id}`)).json.status).toBe('sent'))
    expect(await ledger(own, '?provider=notifier')).toHaveLength(1)
  })

  test('a payment has states of its own, a key at the processor and somebody who reconciles; a receipt waits in the outbox [S2-112]', async () => {
    const key = randomUUID()
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    const running = pay(sandbox, { key, tenant: globex })
    const payments = async () => (await get(sandbox, '/payments', globex)).json.payments
    await eventually(async () => expect(await payments()).toMatchObject([{ status: 'pending' }]))
    expect((await running).json.code).toBe('outcome_unknown')
    // Nobody retries.
    await eventually(async () => expect(await payments()).toMatchObject([{ status: 'succeeded' }]))
    const { json } = await pay(sandbox, { key, tenant: globex })
    const [charge, ...others] = (await ledger(sandbox, '?provider=card')).filter(
      ({ reference }) => reference === json.id,
    )
    expect([charge?.key, others]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), []])
    expect(charge?.key).not.toBe(key)
    const ride = await postJson(sandbox, '/rides', trip)
    expect(ride.json.receipt).toBe('queued')
    await eventually(async () => expect((await get(sandbox, `/rides/${ride.json.id}`)).json.receipt).toBe('sent'))
  })
})

/** Whichever node it was that did it. Each is started again by its parent. */
async function killed({ nodes }: BlackBox): Promise<void> {
  const pids = await Promise.all(nodes.map(async (node) => (await apiOf(node)).pid))
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await Promise.all(nodes.map((node, index) => untilRestarted(node, pids[index] ?? 0)))
}
