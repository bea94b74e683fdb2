import { randomUUID } from 'node:crypto'
import type { RunRequest, ScopeParts } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, acme, ask as get, globex, pay, post, tea } from '../sandbox/payment-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { answer, ask, seen } from './support/ask.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { sqlOn } from './support/database.js'
import { openShop } from './support/shop.js'

/** A key belongs to whoever sent it: nobody meets, blocks or learns of the key of another. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('one key of two tenants is two requests with two results [S0-18 S1-097 R-22]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const ours = await pay(sandbox, attempt)
    const theirs = await pay(sandbox, { ...attempt, tenant: globex })
    for (const answer of [ours, theirs]) {
      expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null])
    }
    expect(theirs.json.id).not.toBe(ours.json.id)
    expect((await pay(sandbox, attempt)).text).toBe(ours.text)
    expect((await pay(sandbox, { ...attempt, tenant: globex })).text).toBe(theirs.text)
    expect(await sandbox.paymentsOf(attempt.body)).toHaveLength(2)
  })

  test('the tenant is that of the token, whatever the request says about itself [S1-052]', async () => {
    const key = randomUUID()
    const claims = { tenant: 'globex', tenant_id: 'globex', scope: 'globex' }
    const headers = { ...acme, 'idempotency-key': key, 'x-tenant-id': 'globex', 'x-forwarded-user': 'globex' }
    const spoofed = await post(sandbox, JSON.stringify({ ...tea(), ...claims, metadata: claims }), headers)
    expect(spoofed.status).toBe(201)
    expect(await sandbox.recordsOf(key)).toMatchObject([{ scope_id: 'acme' }])
    expect((await get(sandbox, `/payments/${spoofed.json.id}`, { headers: globex })).status).toBe(404)
    expect((await pay(sandbox, { key, tenant: globex })).headers.get('idempotent-replayed')).toBeNull()
  })

  test('whatever a tenant sends under keys of another, it never sees an answer of the other [S1-079 S1-112]', async () => {
    const keys = Array.from({ length: 20 }, (_, index) => `${randomUUID()}${'"\' ;=%'[index % 6]}acme`)
    for (const key of keys) {
      const [quoted, body] = [`"${key.replaceAll('"', '\\"')}"`, { ...tea(), metadata: { secret: randomUUID() } }]
      const ours = await pay(sandbox, { key: quoted, body })
      const guesses = [
        await pay(sandbox, { key: quoted, body: tea(), tenant: globex }),
        await pay(sandbox, { key: quoted, body, tenant: globex }),
        await get(sandbox, `/payments/${ours.json.id}`, { headers: globex }),
      ]
      expect(guesses.map(({ status }) => status)).toEqual([201, 422, 404])
      for (const { text, headers } of guesses) {
        const told = text + JSON.stringify([...headers])
        for (const secret of [ours.json.id, ours.json.createdAt, body.metadata.secret]) {
          expect(told).not.toContain(String(secret))
        }
      }
      expect((await pay(sandbox, { key: quoted, body })).text).toBe(ours.text)
    }
  })

  test('a key of somebody else cannot be told from a new one, whatever state it is in [X-20]', async () => {
    const slow = await start({ env: { SANDBOX_DELAY_MS: '1500' } })
    const shape = ({ status, headers, json }: Answer) => {
      const names = [...headers.keys()].filter((name) => name !== 'date')
      return { status, headers: names.sort(), members: Object.keys(json) }
    }
    const [completed, running] = [randomUUID(), randomUUID()]
    await pay(slow, { key: completed })
    const held = pay(slow, { key: running })
    await untilRunning(slow, running)
    const [fresh, ...foreign] = await Promise.all(
      [randomUUID(), completed, running].map((key) => pay(slow, { key, body: tea(), tenant: globex })),
    )
    expect(fresh?.status).toBe(201)
    for (const answer of foreign) expect(fresh && shape(answer)).toEqual(fresh && shape(fresh))
    expect((await held).status).toBe(201)
  })

  test('who does not say who he is gets 401 before any key is looked up, for a used key as for a new one [S1-060 X-08]', async () => {
    const [used, fresh] = [
      { key: randomUUID(), body: tea() },
      { key: randomUUID(), body: tea() },
    ]
    const first = await pay(sandbox, used)
    for (const attempt of [used, fresh, { ...used, body: tea() }, { ...fresh, key: 'two words' }]) {
      for (const tenant of [{ authorization: '' }, { authorization: 'Bearer nobody' }]) {
        const refused = await pay(sandbox, { ...attempt, tenant })
        expect([refused.status, refused.json.code]).toEqual([401, 'unauthenticated'])
      }
    }
    expect(await sandbox.recordsOf(fresh.key)).toEqual([])
    expect((await pay(sandbox, used)).text).toBe(first.text)
  })

  describe('somebody else', () => {
    test('without a token is refused before anybody looks for the key, whether it exists or not [S2-058]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const first = await pay(sandbox, { key, body })
      const asStranger = (key: string) => post(sandbox, JSON.stringify(body), { 'idempotency-key': key })
      const [known, unknown] = [await asStranger(key), await asStranger(randomUUID())]
      expect(known).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
      expect(known.text).toBe(unknown.text)
      expect(known.text).not.toContain(String(first.json.id))
    })

    test('with the same key and body gets a payment of his own, and each keeps his answer [S2-076 S3-63]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const ours = await pay(sandbox, { key, body })
      const theirs = await pay(sandbox, { key, body, tenant: globex })
      expect([theirs.status, theirs.headers.get('idempotent-replayed')]).toEqual([201, null])
      expect(theirs.json.id).not.toBe(ours.json.id)
      expect((await pay(sandbox, { key, body })).text).toBe(ours.text)
      expect((await pay(sandbox, { key, body, tenant: globex })).text).toBe(theirs.text)
      const scopes = (await sandbox.recordsOf(key)).map(({ scope_id }) => scope_id)
      expect(scopes.sort()).toEqual(['acme', 'globex'])
    })
  })
})

test('bound to a credential or a session, a key is another one under the next [S1-082 S1-098]', async () => {
  const { hapax, policy, charge, charges } = await openShop()
  const run = async (scope: string | ScopeParts) => {
    const request = { scope, key: 'k', input: { cents: 450 }, policy: policy() }
    const { value, replayed } = await hapax.run(request, () => charge(`ch_${charges.length + 1}`))
    return `${value.charge}${replayed ? ' again' : ''}`
  }
  const [laptop, phone] = ['tok_laptop', 'tok_phone'].map((credential) => ({ tenant: 'acme', credential }))
  expect([await run(laptop ?? ''), await run(phone ?? '')]).toEqual(['ch_1', 'ch_2'])
  expect([await run(laptop ?? ''), await run(phone ?? '')]).toEqual(['ch_1 again', 'ch_2 again'])
  // Where only the tenant is bound, every session of it retries the same request.
  expect([await run('acme'), await run({ tenant: 'acme' })]).toEqual(['ch_3', 'ch_3 again'])
})

test('who takes a key first blocks no other principal of the tenant, and learns nothing of them [X-07 R-22]', async () => {
  const { hapax, policy } = await openShop()
  const run = (principal: string, body: string) =>
    ask(hapax, { policy: policy(), key: 'invoice-17', scope: { tenant: 'acme', principal }, body }, async () =>
      answer(201, `paid by ${principal}`),
    )
  expect(seen(await run('mallory', '{"cents":1}'))).toBe('201 paid by mallory')
  expect(seen(await run('alice', '{"cents":450}'))).toBe('201 paid by alice')
  expect(seen(await run('mallory', '{"cents":450}'))).toBe('idempotency_key_reused_with_different_payload')
  expect(seen(await run('alice', '{"cents":450}'))).toBe('201 paid by alice again')
})

test('no spelling of tenants, users and keys makes two records one, nor two paths one request', async () => {
  const { hapax, policy, path } = await openShop()
  const names: [scope: string | ScopeParts, key: string][] = [
    ['acme', 'k'],
    ['acme;principal=7', 'k'],
    [{ tenant: 'acme', principal: '7' }, 'k'],
    [{ tenant: 'acme', credential: '7' }, 'k'],
    [{ tenant: 'acme', principal: '7;credential=8' }, 'k'],
    [{ tenant: 'acme', principal: '7', credential: '8' }, 'k'],
    ['acm', 'ek'],
    ['ACME', 'k'],
    ['acme', 'K'],
    ['acme%3Bprincipal%3D7', 'k'],
  ]
  for (const [scope, key] of names) {
    const { replayed } = await hapax.run({ scope, key, policy: policy() }, async () => 'ran')
    expect(replayed, JSON.stringify([scope, key])).toBe(false)
  }
  expect(sqlOn(path, 'SELECT 1 FROM hapax_records')).toHaveLength(names.length)

  const request = { policy: policy(), key: 'one-key' }
  const ran = async () => answer(201, 'ran')
  await ask(hapax, { ...request, subject: ['POST', '/orders/1/release'] }, ran)
  const elsewhere = await ask(hapax, { ...request, subject: ['POST', '/orders/2/release'] }, ran)
  expect(seen(elsewhere)).toBe('idempotency_key_reused_with_different_payload')
})

test('without an authenticated tenant there is no scope: nothing runs and nothing is kept [X-08]', async () => {
  const { hapax, policy, path, charge, charges } = await openShop()
  for (const scope of [undefined, null, '', {}, { tenant: '' }, { principal: 'usr_7' }, { tenant: undefined }]) {
    const request = { scope, key: 'k', policy: policy() } as unknown as RunRequest
    await expect(
      hapax.run(request, () => charge('ch_1')),
      JSON.stringify(scope),
    ).rejects.toMatchObject({ code: 'scope_missing' })
  }
  expect([charges, sqlOn(path, 'SELECT 1 FROM hapax_records')]).toEqual([[], []])
})
