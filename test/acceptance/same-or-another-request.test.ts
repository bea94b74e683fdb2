import { randomBytes, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { PolicyOptions } from 'hapax'
import { beforeAll, expect, test } from 'vitest'
import { acme, coffee, ask as get, pay, post, tea } from '../sandbox/payment-client.js'
import { answer, ask, seen } from './support/ask.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { recordOf } from './support/database.js'
import { plainFingerprint } from './support/fingerprint-recipe.js'
import { openShop } from './support/shop.js'

/** A key belongs to one request: what is the same request, and what another one under its key gets. */

const reused = 'idempotency_key_reused_with_different_payload'

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('another body under a used key gets 422, and the payment stays as it was [S0-14 S0-20 S1-096]', async () => {
    const [key, body] = [randomUUID(), tea()]
    const first = await pay(sandbox, { key, body })
    const path = `/payments/${first.json.id}`
    const before = await get(sandbox, path, { headers: acme })
    for (const changed of [
      { amountCents: 451 },
      { currency: 'EUR' },
      { metadata: { note: 'more' } },
      { extra: null },
    ]) {
      const refused = await pay(sandbox, { key, body: { ...body, ...changed } })
      expect(refused).toMatchObject({ status: 422, json: { status: 422, code: reused } })
    }
    expect((await get(sandbox, path, { headers: acme })).text).toBe(before.text)
    expect(await sandbox.paymentsOf(body)).toEqual([first.json.id])
    expect(await sandbox.recordsOf(key)).toMatchObject([{ status: 'completed', attempt: 1 }])
  })

  test('a SHA-256 of the request is stored: the same amount is replayed, another one gets 422 [S1-033 S1-065 R-11]', async () => {
    const [key, body] = [randomUUID(), tea()]
    const first = await pay(sandbox, { key, body })
    expect((await sandbox.recordOf(key)).request_fingerprint).toMatch(/^[^:]*sha256[^:]*:[0-9a-f]{64}$/)
    expect((await pay(sandbox, { key, body })).text).toBe(first.text)
    expect((await pay(sandbox, { key, body: { ...body, amountCents: body.amountCents + 1 } })).status).toBe(422)
  })

  test('another amount or recipient learns nothing of the first response [S1-035 X-07]', async () => {
    const [key, body] = [randomUUID(), { ...tea(), metadata: { note: randomUUID() } }]
    const first = await pay(sandbox, { key, body })
    const { id, customerId, createdAt } = first.json
    for (const other of [{ ...body, amountCents: 999 }, tea()]) {
      const refused = await pay(sandbox, { key, body: other })
      expect(refused.status).toBe(422)
      expect(refused.headers.get('location')).toBeNull()
      for (const told of [id, customerId, createdAt, body.metadata.note, 'created']) {
        expect(refused.text).not.toContain(String(told))
      }
      expect(Object.keys(refused.json).sort()).toEqual(['code', 'detail', 'retryable', 'status', 'title', 'type'])
    }
  })

  test('what means the same is the same request: order, white space, escapes and spelling of numbers [S1-034 S2-138]', async () => {
    const headers = { ...acme, 'idempotency-key': randomUUID() }
    const first = await post(sandbox, '{"customerId":"cus_/1","amountCents":450,"currency":"USD"}', headers)
    expect(first.status).toBe(201)
    const spellings = [
      '{"currency":"USD","amountCents":450,"customerId":"cus_/1"}',
      '\n{ "customerId" : "cus_/1",\t"amountCents" : 450, "currency" : "USD" }\r\n',
      '{"customerId":"\\u0063us_\\/1","amountCents":450,"\\u0063urrency":"USD"}',
      '{"customerId":"cus_/1","amountCents":4.5e2,"currency":"USD"}',
      '{"customerId":"cus_/1","amountCents":450.0,"currency":"USD"}',
    ]
    for (const spelling of spellings) {
      const again = await post(sandbox, spelling, headers)
      expect([again.status, again.text], spelling).toEqual([201, first.text])
    }
  })

  test('an amount as text is compared to the letter, an amount as number by its value [S4-02]', async () => {
    const paying = (key: string, amount: string) =>
      post(sandbox, `${JSON.stringify(coffee).slice(0, -1)},"amount":${amount}}`, {
        ...acme,
        'idempotency-key': key,
      })
    const [text, number] = [randomUUID(), randomUUID()]
    const first = await paying(text, '"100.00"')
    expect(first.status).toBe(201)
    expect((await paying(text, '"100.00"')).text).toBe(first.text)
    expect((await paying(text, '"100.0"')).status).toBe(422)
    expect((await paying(number, '100.00')).text).toBe((await paying(number, '100.0')).text)
  })
})

test('another amount under a used key never reaches the payment provider [S0-14 S1-065]', async () => {
  const { hapax, policy, charge, charges } = await openShop()
  const pay = (cents: number) =>
    hapax.run({ scope: 'acme', key: 'k', input: { cents }, policy: policy() }, () => charge(`${cents}`))
  await pay(450)
  await expect(pay(451)).rejects.toMatchObject({ code: reused })
  expect((await pay(450)).replayed).toBe(true)
  expect(charges).toEqual(['450'])
})

test('each strategy of the draft can be chosen, and compares what it says [R-06]', async () => {
  const { hapax, policy } = await openShop()
  const first = { body: '{"to":"bob","cents":450,"at":1}', headers: { 'content-digest': 'sha-256=:YQ==:' } }
  const spaced = { ...first, body: '{ "to": "bob", "cents": 450, "at": 1 }' }
  const later = { ...first, body: '{"to":"bob","cents":450,"at":2}' }
  const dearer = { ...first, body: '{"to":"bob","cents":451,"at":1}' }
  const otherDigest = { ...first, headers: { 'content-digest': 'sha-256=:Yg==:' } }
  type Strategy = NonNullable<NonNullable<PolicyOptions['fingerprint']>['strategy']>
  const cases: readonly { strategy: Strategy; same: readonly (typeof first)[]; other: readonly (typeof first)[] }[] = [
    { strategy: { kind: 'raw' }, same: [first, otherDigest], other: [spaced, later, dearer] },
    { strategy: { kind: 'whole' }, same: [first, spaced], other: [later, dearer] },
    { strategy: { kind: 'fields', select: ['to', 'cents'] }, same: [spaced, later], other: [dearer] },
    { strategy: { kind: 'fields', exclude: ['at'] }, same: [spaced, later], other: [dearer] },
    { strategy: { kind: 'header', name: 'Content-Digest' }, same: [first, dearer], other: [otherDigest] },
    {
      strategy: { kind: 'own', id: 'length', of: ({ body }) => `${body.length}` },
      same: [later, dearer],
      other: [spaced],
    },
  ]
  for (const [index, { strategy, same, other }] of cases.entries()) {
    const request = { policy: policy({ fingerprint: { strategy } }), key: `k${index}` }
    const paid = async () => answer(201, 'paid')
    await ask(hapax, { ...request, ...first }, paid)
    const told = async (retries: typeof same) =>
      Promise.all(retries.map(async (retry) => seen(await ask(hapax, { ...request, ...retry }, paid))))
    expect(await told(same), strategy.kind).toEqual(same.map(() => '201 paid again'))
    expect(await told(other), strategy.kind).toEqual(other.map(() => reused))
  }
})

test('by a digest or a signature, another body is noticed without looking at it [S0-25]', async () => {
  const { hapax, policy } = await openShop()
  for (const name of ['content-digest', 'x-jws-signature']) {
    const request = { policy: policy({ fingerprint: { strategy: { kind: 'header', name } } }), key: name }
    const send = async (value: string) =>
      seen(await ask(hapax, { ...request, headers: { [name]: value } }, async () => answer(201, 'paid')))
    expect([await send('a'), await send('a'), await send('b')]).toEqual(['201 paid', '201 paid again', reused])
  }
})

test('a form is a request like any other: the same pairs are replayed, another amount is not [S0-34]', async () => {
  const { hapax, policy } = await openShop()
  const select = { strategy: { kind: 'fields', select: ['amount', 'currency'] } } as const
  for (const [key, chosen] of Object.entries({ whole: policy(), selected: policy({ fingerprint: select }) })) {
    const request = { policy: chosen, key, mediaType: 'application/x-www-form-urlencoded' }
    const send = async (body: string) => seen(await ask(hapax, { ...request, body }, async () => answer(201, 'paid')))
    expect(await send('amount=2000&currency=usd&description=test')).toBe('201 paid')
    expect(await send('amount=2000&currency=usd&description=test')).toBe('201 paid again')
    expect(await send('amount=2001&currency=usd&description=test')).toBe(reused)
  }
})

test('who steals the table finds a PIN by its plain hash, and none by its keyed one [X-10]', async () => {
  const { hapax, policy, path } = await openShop()
  const [k1, k2] = [randomBytes(32), randomBytes(32)]
  const keyed = policy({ fingerprint: { secret: { keys: { k1 }, current: 'k1' } } })
  const rotated = policy({ fingerprint: { secret: { keys: { k1, k2 }, current: 'k2' } } })
  const run = (key: string, pin: string, by = keyed) =>
    hapax.run({ scope: 'acme', key, input: { pin }, policy: by }, async () => 'set')
  await run('plain', '4711', policy())
  await run('keyed', '4711')

  const stolen = (key: string) => String(recordOf(path, key).request_fingerprint)
  const guessed = (key: string) => {
    const fingerprint = stolen(key)
    const recipe = fingerprint.split(':')[0]
    const pins = Array.from({ length: 10_000 }, (_, pin) => String(pin).padStart(4, '0'))
    return pins.filter((pin) => plainFingerprint('payments.create', `{"pin":"${pin}"}`, recipe) === fingerprint)
  }
  expect([guessed('plain'), guessed('keyed')]).toEqual([['4711'], []])

  expect(stolen('keyed')).toContain('hmac-k1')
  expect((await run('keyed', '4711', rotated)).replayed).toBe(true)
  await expect(run('keyed', '4712', rotated)).rejects.toMatchObject({ code: reused })
  await run('newer', '4711', rotated)
  expect(stolen('newer')).toContain('hmac-k2')
})

test('fingerprints are compared in constant time, and nowhere in any other way [X-10]', async () => {
  const sources = new URL('../../src/', import.meta.url)
  const files = (await readdir(sources, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, sources), 'utf8')))
  const comparing = texts.filter((text) => text.includes('equalFingerprints('))
  expect(comparing.length).toBeGreaterThan(1)
  expect(comparing.filter((text) => /function equalFingerprints[^}]*timingSafeEqual\(/.test(text))).toHaveLength(1)
  for (const text of texts)
    expect(text).not.toMatch(/\.(request_)?fingerprint\s*[!=]==|[!=]==\s*\w+\.(request_)?fingerprint\b/)
})
