import { randomUUID } from 'node:crypto'
import { engine } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, acme, ask, type PaymentTry, pay, post, tea } from '../sandbox/payment-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** The real sandbox over HTTP: what a client gets for a key and a body, and what lies in the database then. */

const misuse = { status: 422, json: { status: 422, code: 'idempotency_key_reused_with_different_payload' } }
const inProgress = { status: 409, json: { status: 409, code: 'idempotency_key_in_progress' } }

onBothDatabases((start) => {
  let sandbox: BlackBox

  /** Its payments run for a minute, which no test waits for. */
  let stuck: BlackBox
  beforeAll(async () => {
    ;[sandbox, stuck] = await Promise.all([start(), start({ env: { SANDBOX_DELAY_MS: '60000' } })])
  })

  describe('the same key and the same body', () => {
    test('run once: the first makes a payment, the second gets the same bytes and makes none [S2-018 S2-019 S3-68]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const bytes = async () => {
        const headers = { ...acme, 'idempotency-key': key, 'content-type': 'application/json' }
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        const response = await fetch(`${sandbox.url}/payments`, init)
        return { status: response.status, body: Buffer.from(await response.arrayBuffer()), headers: response.headers }
      }
      const first = await bytes()
      const again = await bytes()
      expect([first.status, again.status]).toEqual([201, 201])
      expect(again.body.equals(first.body)).toBe(true)
      expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
      expect(await sandbox.paymentsOf(body)).toHaveLength(1)
    })

    test('give the stored original again and again, not a word made up for the occasion [S2-014 S2-075 S3-03]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const first = await pay(sandbox, { key, body })
      for (let time = 0; time < 3; time++) expect((await pay(sandbox, { key, body })).json).toEqual(first.json)
      const shown = await ask(sandbox, `/payments/${first.json.id}`, { headers: acme })
      expect(shown.json).toEqual(first.json)
    })

    test('answer from what is stored: the answer that lies in the row is the one that is sent [S2-099 S3-08]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const first = await pay(sandbox, { key, body })
      const marked = first.text.replace('"created"', '"CREATED"')
      await sandbox.change(key, `response_body = ${sandbox.bytes(marked)}`)
      expect(marked).not.toBe(first.text)
      expect((await pay(sandbox, { key, body })).text).toBe(marked)
    })
  })

  describe('the same key and another body', () => {
    test('422 with its own code, counted, and the record stays as it was [S2-010 S2-021 S2-043]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const first = await pay(sandbox, { key, body })
      const before = await sandbox.recordOf(key)
      const refused = await pay(sandbox, { key, body: { ...body, amountCents: 451 } })
      expect(refused).toMatchObject(misuse)
      expect(refused.headers.get('content-type')).toBe('application/problem+json')
      expect(refused.text).not.toContain(String(first.json.id))

      await sandbox.withStore(async (store) => {
        const hapax = engine({ store })
        let counted = 0
        hapax.on('mismatched', () => counted++)
        const policy = hapax.policy({ name: 'payments.create' })
        const again = hapax.run({ scope: 'acme', key, input: 'another', policy }, async () => expect.fail('it ran'))
        await expect(again).rejects.toMatchObject({ code: misuse.json.code })
        await hapax.close()
        expect(counted).toBe(1)
      })
      expect(await sandbox.recordOf(key)).toEqual(before)
    })

    test('each member counts: a changed, added or missing one is another request, however small [S2-063 S2-074 S3-56]', async () => {
      const key = randomUUID()
      const body = { ...tea(), metadata: { order: 'A-17' } }
      await pay(sandbox, { key, body })
      const { metadata: _, ...withoutMetadata } = body
      const others = [
        { ...body, amountCents: body.amountCents + 1 },
        { ...body, currency: 'KRW' },
        { ...body, customerId: `${body.customerId} ` },
        { ...body, metadata: { order: 'A-18' } },
        { ...body, note: '' },
        withoutMetadata,
      ]
      for (const other of others)
        expect(await pay(sandbox, { key, body: other }), JSON.stringify(other)).toMatchObject(misuse)
      expect(await sandbox.paymentsOf(body)).toHaveLength(1)
    })

    test('is refused for as long as the key lives, and the first request keeps its answer [S3-15 S3-18 S3-36]', async () => {
      const [key, body, other] = [randomUUID(), tea(), tea()]
      const first = await pay(sandbox, { key, body })
      for (let time = 0; time < 3; time++) {
        expect(await pay(sandbox, { key, body: other })).toMatchObject(misuse)
        expect((await pay(sandbox, { key, body })).text).toBe(first.text)
      }
      expect(await sandbox.paymentsOf(other)).toEqual([])
    })

    test('and never the key alone or the body alone: two keys, two bodies, four different ends [S2-057 S2-060 S3-09]', async () => {
      const [one, two] = [randomUUID(), randomUUID()]
      const [coffee, cake] = [tea(), tea()]
      const first = await pay(sandbox, { key: one, body: coffee })
      const second = await pay(sandbox, { key: two, body: coffee })
      expect([first.status, second.status]).toEqual([201, 201])
      expect(second.json.id).not.toBe(first.json.id)
      expect(await pay(sandbox, { key: one, body: cake })).toMatchObject(misuse)
      expect((await pay(sandbox, { key: two, body: coffee })).text).toBe(second.text)
      expect(await sandbox.paymentsOf(coffee)).toHaveLength(2)
    })

    test('finished and the same: the kept 201; finished and another: 422 [S3-06 S3-69]', async () => {
      const [key, body] = [randomUUID(), tea()]
      await pay(sandbox, { key, body })
      expect(await sandbox.recordsOf(key)).toMatchObject([{ status: 'completed' }])
      const statuses = [body, { ...body, amountCents: 1 }].map(
        async (sent) => (await pay(sandbox, { key, body: sent })).status,
      )
      expect(await Promise.all(statuses)).toEqual([201, 422])
    })

    test('is misuse before it is anything else: while the first runs, has failed, or is in doubt [S2-096]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const other = { ...body, amountCents: 1 }
      await refusedDuplicates(stuck, { key, body }, 1)
      expect(await pay(stuck, { key, body: other })).toMatchObject(misuse)
      await pay(sandbox, { key, body })
      for (const status of ['failed_retryable', 'unknown']) {
        await sandbox.change(key, `status = '${status}', response_status_code = NULL`)
        expect(await pay(sandbox, { key, body: other }), status).toMatchObject(misuse)
      }
    })
  })

  describe('the same key at the same time', () => {
    test('409 with its own code and a Retry-After while the first runs [S2-042 S3-16]', async () => {
      const [duplicate] = await refusedDuplicates(stuck, { key: randomUUID(), body: tea() }, 1)
      expect(duplicate).toMatchObject(inProgress)
      expect(duplicate?.headers.get('content-type')).toBe('application/problem+json')
      expect(duplicate?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    })

    test('of thirty that arrive together one reaches the handler, and all others are told [S2-077]', async () => {
      const key = randomUUID()
      const duplicates = await refusedDuplicates(stuck, { key, body: tea() }, 29)
      for (const duplicate of duplicates) expect(duplicate).toMatchObject(inProgress)
      expect(await stuck.recordsOf(key)).toMatchObject([{ status: 'in_progress', attempt: 1 }])
    })
  })

  test('every answer to a retry, good or bad, forbids caches to keep it [G-15]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await pay(sandbox, { key, body })
    const answers: Answer[] = [
      await pay(sandbox, { key, body }),
      await pay(sandbox, { key, body: tea() }),
      await pay(sandbox, { key: '', body }),
      await post(sandbox, JSON.stringify(body), { 'idempotency-key': key }),
    ]
    expect(answers.map(({ status, headers }) => `${status} ${headers.get('cache-control')}`)).toEqual([
      '201 no-store',
      '422 no-store',
      '400 no-store',
      '401 no-store',
    ])
  })
})

/** Sends one more than `count` at once: that one runs, and these are what the others are told meanwhile. */
async function refusedDuplicates(at: BlackBox, attempt: PaymentTry, count: number): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let sent = 0; sent <= count; sent++)
    void pay(at, attempt).then(
      (answer) => answers.push(answer),
      () => 'cut off',
    )
  await expect.poll(() => answers.length, { timeout: 5_000 }).toBe(count)
  return answers
}
