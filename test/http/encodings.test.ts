import { brotliCompressSync, gzipSync } from 'node:zlib'
import { engine } from 'hapax'
import { guard } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'

function given() {
  let runs = 0
  const options = { name: 'payments.create', scope: () => 'acme' }
  const pay = guard(engine({ store: memoryStore(), log: () => {} }), options, () => Response.json({ run: ++runs }))
  return {
    runs: () => runs,
    post(body: Uint8Array<ArrayBuffer>, encoding: string, key = 'k') {
      const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json', 'Content-Encoding': encoding }
      return pay(new Request('http://localhost/payments', { method: 'POST', headers, body }))
    },
  }
}

const plain = Buffer.from('{"cents":5}')

test('a body may be wrapped twice, and is the same request as when it is wrapped once', async () => {
  const { post, runs } = given()
  const twice = Uint8Array.from(brotliCompressSync(gzipSync(plain)))
  expect((await post(twice, 'gzip, br')).status).toBe(200)
  const again = await post(Uint8Array.from(gzipSync(plain)), 'identity, gzip, identity')
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(runs()).toBe(1)
})

test('a body that is wrapped a third time is refused, however many more it names', async () => {
  const { post, runs } = given()
  for (const times of [3, 1_500]) {
    const refused = await post(Uint8Array.from(plain), Array(times).fill('gzip').join(','))
    // Its bytes are no gzip: whoever had begun to unwrap them would say that they are invalid.
    expect([refused.status, await refused.json()]).toMatchObject([415, { code: 'body_encoding_unsupported' }])
  }
  expect(runs()).toBe(0)
})
