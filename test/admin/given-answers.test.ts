import { createHash } from 'node:crypto'
import { engine } from 'hapax'
import { admin, adminApi, everything } from 'hapax/admin'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { expect, onTestFinished, test } from 'vitest'

/** The answer that an operator gives a doubt: what cannot be sent is refused, while he can still say it otherwise. */

async function site() {
  const hapax = engine({ store: memoryStore(), log: () => {} })
  const api = adminApi({ hapax, authorize: () => ({ who: 'ann', may: everything }) })
  onTestFinished(async () => {
    api.close()
    await hapax.close()
  })
  const served = guard(hapax, { name: 'payments.create', scope: () => 'acme' }, async (_, work) => {
    work.doubt('provider_silent')
    return new Response()
  })
  const pay = () =>
    served(
      new Request('http://shop/payments', { method: 'POST', headers: { 'idempotency-key': 'k-1234567' }, body: '{}' }),
    )
  await pay()
  const settle = async (answer: unknown) => {
    const says = { says: 'completed', evidence: 'seen', reason: 'asked' }
    const response = await api(
      new Request('http://admin/records/settle', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: JSON.stringify({ scope: 'acme', key: 'k-1234567', ...says, answer }),
      }),
    )
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  return { hapax, pay, settle }
}

test.each([
  ['a line break in a header', { status: 201, headers: { location: '/a\r\nset-cookie: a=b' } }, 'location'],
  ['a header whose name is no token', { status: 201, headers: { 'my header': 'a' } }, 'token'],
  ['headers that are none', { status: 201, headers: null }, 'headers'],
  ['headers that are a list', { status: 201, headers: [['a', 'b']] }, 'headers'],
  ['headers that are a text', { status: 201, headers: 'a: b' }, 'headers'],
  ['a header that is an object', { status: 201, headers: { a: {} } }, '"a"'],
  ['a length of its own', { status: 201, headers: { 'Content-Length': '3' }, body: 'paid' }, 'Content-Length'],
  ['no content with a body', { status: 204, body: 'paid' }, '204'],
  ['a status that is none', { status: 600 }, 'status'],
  ['a misspelt member', { status: 201, bodi: 'paid' }, 'body'],
  ['no answer at all', undefined, 'status'],
])('%s is refused with what is wrong, and the doubt stands', async (_, answer, why) => {
  const { settle, pay } = await site()
  const refused = await settle(answer)
  expect(refused).toMatchObject({ status: 400, json: { code: 'invalid', detail: expect.stringContaining(why) } })
  expect(await (await pay()).json()).toMatchObject({ code: 'outcome_unknown' })
  expect((await settle({ status: 201, headers: { location: '/p/1' }, body: { id: 1 } })).status).toBe(200)
  const again = await pay()
  expect([again.status, again.headers.get('location'), await again.json()]).toEqual([201, '/p/1', { id: 1 }])
})

test('what is given in code is looked at, too', async () => {
  const { hapax } = await site()
  const desk = admin({ hapax })
  onTestFinished(() => desk.close())
  const answer = { status: 201, headers: [['a b', 'c']] as const, body: new Uint8Array() }
  const settled = desk.settle(
    { scope: 'acme', key: 'k-1234567' },
    { says: 'completed', evidence: 'seen', answer },
    { who: 'ann', why: 'asked' },
  )
  await expect(settled).rejects.toMatchObject({ name: 'Refused', code: 'invalid' })
})

test('the log has the hash of what was given, and says how it stood in the words and times of the API', async () => {
  const { settle } = await site()
  const settled = await settle({ status: 201, headers: { location: '/p/1' }, body: { id: 1 } })
  const [entry] = settled.json.audit as { before: object; after: Record<string, unknown> }[]
  const headers = [
    ['content-type', 'application/json'],
    ['location', '/p/1'],
  ]
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const supplied = {
    what: 'answer',
    sha256: sha256('{"id":1}'),
    bytes: 8,
    headers_sha256: sha256(JSON.stringify(headers)),
  }
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  const evidence = [{ says: 'completed', by: 'ann', why: 'seen', at: time }]
  expect(entry?.after).toMatchObject({ state: 'completed', status: 201, expires_at: time, evidence, supplied })
  expect(JSON.stringify(entry)).not.toContain('/p/1')
  for (const name of [...Object.keys(entry?.before ?? {}), ...Object.keys(entry?.after ?? {})])
    expect(name).toMatch(/^[a-z_]+[0-9]*$/)
})
