import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { acme, ask as get, pay, post, tea } from '../sandbox/payment-client.js'
import { answer, ask, seen } from './support/ask.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { bytesOf, recordOf } from './support/database.js'
import { openShop } from './support/shop.js'

/** A request runs once, and every retry is told what the first was told. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('twenty identical POSTs create one payment, and all of them tell of it [S0-01 S0-22 R-12]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const answers = [await pay(sandbox, attempt)]
    while (answers.length < 20) answers.push(await pay(sandbox, attempt))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await sandbox.paymentsOf(attempt.body)).toEqual([answers[0]?.json.id])
  })

  test('a key that is new is processed; one that is there is answered from what is stored [S1-029 R-13]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const first = await pay(sandbox, attempt)
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    const created = await get(sandbox, `/payments/${first.json.id}`, { headers: acme })
    expect(created.json).toMatchObject({ ...attempt.body, id: first.json.id })

    const second = await pay(sandbox, attempt)
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'completed', attempt: 1 }])
  })

  test('a retry gets status, content type, location and every byte of the first answer [S0-10 S1-041 S4-07]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const first = await pay(sandbox, attempt)
    const again = await pay(sandbox, attempt)
    expect(again.status).toBe(first.status)
    expect(again.text).toBe(first.text)
    for (const name of ['content-type', 'content-length', 'location']) {
      expect(first.headers.get(name), name).not.toBeNull()
      expect(again.headers.get(name), name).toBe(first.headers.get(name))
    }
  })

  test('the contract of a replay is written down and kept: the original 201, never a 200 [S2-071]', async () => {
    const page = readFileSync(new URL('../../examples/sandbox/README.md', import.meta.url), 'utf8')
    expect(page.replaceAll('\n', ' ')).toMatch(/the same `201` with the same bytes, marked `Idempotent-Replayed: true`/)
    const [key, body] = [randomUUID(), tea()]
    const answers = [await pay(sandbox, { key, body }), await pay(sandbox, { key, body })]
    expect(answers.map(({ status, headers }) => `${status} ${headers.get('idempotent-replayed')}`)).toEqual([
      '201 null',
      '201 true',
    ])
  })

  test('the first request leaves its key, the hash of the request and the response behind [S4-06]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const { status, text } = await pay(sandbox, attempt)
    expect(status).toBe(201)
    const record = await sandbox.recordOf(attempt.key)
    expect(record).toMatchObject({ scope_id: 'acme', idempotency_key: attempt.key, status: 'completed' })
    expect(record.response_status_code).toBe(201)
    expect(record.request_fingerprint).toMatch(/[0-9a-f]{64}$/)
    expect(bytesOf(record.response_body).toString()).toBe(text)
  })

  test('the key in its header makes a POST idempotent, not what is in the body', async () => {
    const body = tea()
    const key = randomUUID()
    const [first, retry, other] = [
      await pay(sandbox, { key, body }),
      await pay(sandbox, { key, body }),
      await pay(sandbox, { body }),
    ]
    expect(retry.json.id).toBe(first.json.id)
    expect(other.json.id).not.toBe(first.json.id)
    expect(await sandbox.paymentsOf(body)).toHaveLength(2)
  })

  test('a request id is no key: retries may have many, and two operations may share one [S0-21]', async () => {
    const body = tea()
    const send = (key: string, requestId: string) =>
      post(sandbox, JSON.stringify(body), { ...acme, 'idempotency-key': key, 'x-request-id': requestId })
    const [key, otherKey] = [randomUUID(), randomUUID()]
    const first = await send(key, 'request-1')
    expect((await send(key, 'request-2')).text).toBe(first.text)
    expect((await send(otherKey, 'request-1')).json.id).not.toBe(first.json.id)
    expect(await sandbox.paymentsOf(body)).toHaveLength(2)
  })

  test('a unique field of the payload may be the key as well [S0-16]', async () => {
    const orderRef = `order-${randomUUID()}`
    const attempt = { key: orderRef, body: { ...tea(), metadata: { orderRef } } }
    const first = await pay(sandbox, attempt)
    const again = await pay(sandbox, attempt)
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test('a replay tells what happened then; what is true now is for a GET to tell, which needs no key [S1-092 S1-094 S4-25]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const first = await pay(sandbox, attempt)
    const path = `/payments/${first.json.id}`
    expect((await get(sandbox, path, { headers: acme })).json.status).toBe('created')
    await sandbox.sql(`UPDATE {sandbox}payments SET status = 'cancelled' WHERE id = '${first.json.id}'`)
    expect((await pay(sandbox, attempt)).text).toBe(first.text)
    for (const key of [{}, { 'idempotency-key': attempt.key }]) {
      const shown = await get(sandbox, path, { headers: { ...acme, ...key } })
      expect([shown.status, shown.json.status]).toEqual([200, 'cancelled'])
    }
    expect(await sandbox.recordsOf(attempt.key)).toHaveLength(1)
  })
})

test('twenty identical requests reach the payment provider once [S0-01 S1-004]', async () => {
  const { hapax, policy, charge, charges } = await openShop()
  const request = { scope: 'acme', key: 'k', input: { cents: 450 }, policy: policy() }
  for (let attempt = 1; attempt <= 20; attempt++) {
    const { value, replayed } = await hapax.run(request, () => charge('ch_1'))
    expect([value, replayed]).toEqual([{ charge: 'ch_1' }, attempt > 1])
  }
  expect(charges).toEqual(['ch_1'])
})

test('whatever the answer was is given again: created, accepted, empty, elsewhere, declined [S1-041 S4-07]', async () => {
  const { hapax, policy } = await openShop()
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const location = [['location', '/payments/17']] as const
  const answers = [
    answer(201, '{ "id" : 17 }', [['content-type', 'application/json'], ...location]),
    answer(202, bytes, [['content-type', 'application/octet-stream']]),
    answer(204, ''),
    answer(303, '', location),
    answer(402, '{"code":"card_declined"}', [['content-type', 'application/problem+json']]),
  ]
  for (const given of answers) {
    const request = { policy: policy(), key: `status-${given.status}` }
    const first = await ask(hapax, request, async () => given)
    const again = await ask(hapax, request, async () => answer(500, 'ran twice'))
    expect(first).toMatchObject({ kind: 'answered', replayed: false, answer: { kind: 'kept', status: given.status } })
    expect(again).toEqual({ ...first, replayed: true })
    expect(again).toMatchObject({ answer: { headers: given.headers, body: given.body } })
  }
})

test('the key is durable as in progress before the first line of the handler, completed after [S1-001 S4-60 S0-07]', async () => {
  const { hapax, policy, path } = await openShop()
  const request = { scope: 'acme', key: 'k', policy: policy() }
  const during = await hapax.run(request, async () => {
    const { scope_id, status, response_status_code } = recordOf(path, 'k')
    return { scope_id, status, response_status_code }
  })
  expect(during.value).toEqual({ scope_id: 'acme', status: 'in_progress', response_status_code: null })
  const after = recordOf(path, 'k')
  expect(after).toMatchObject({ scope_id: 'acme', status: 'completed', response_status_code: 200 })
  expect(JSON.parse(bytesOf(after.response_body).toString())).toEqual(during.value)
})

test('whatever a key already holds, a conflict never enters the handler [S1-013]', async () => {
  const { hapax, policy, charge, charges } = await openShop()
  const run = (key: string, input: string) => ask(hapax, { policy: policy(), key, body: `"${input}"` }, enter)
  const enter = async () => answer(201, JSON.stringify(await charge('again')))

  await ask(hapax, { policy: policy(), key: 'completed', body: '"a"' }, async () => answer(201, 'done'))
  expect(seen(await run('completed', 'a'))).toBe('201 done again')
  expect(seen(await run('completed', 'b'))).toBe('idempotency_key_reused_with_different_payload')

  await ask(hapax, { policy: policy(), key: 'doubted', body: '"a"' }, async (work) => {
    work.doubt('the reply was lost')
    return answer(201, 'perhaps')
  })
  expect(seen(await run('doubted', 'a'))).toBe('outcome_unknown')

  await ask(hapax, { policy: policy(), key: 'running', body: '"a"' }, async () => {
    expect(seen(await run('running', 'a'))).toBe('idempotency_key_in_progress')
    return answer(201, 'done')
  })
  expect(charges).toEqual([])
})

test('an answer over the size limit is told once in full, then withheld; nothing runs again [X-15]', async () => {
  const { hapax, policy, path } = await openShop()
  const request = { policy: policy({ maxAnswerBytes: 100 }), key: 'k' }
  const large = 'x'.repeat(101)
  expect(seen(await ask(hapax, request, async () => answer(201, large)))).toBe(`201 ${large}`)
  expect(seen(await ask(hapax, request, async () => answer(201, 'ran again')))).toBe('201 (withheld) again')
  expect(recordOf(path, 'k')).toMatchObject({ status: 'completed', response_status_code: 201, response_body: null })
})
