import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { describe, expect, onTestFinished, test } from 'vitest'
import { adapters, ask, json, key, site } from './support/http-site.js'

/** Which requests need a key, and which are left alone: over a real port, by every adapter. */

describe.each(adapters)('on %s', (adapter) => {
  test('what is idempotent by itself needs no key, and a key that comes with it is not acted on [S0-02 S3-62 S3-74]', async () => {
    const { ask, runs, rows } = await site(adapter, { handler: (runs) => json(200, { runs }) })
    const methods = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']
    if (adapter === 'node' || adapter === 'express') methods.push('TRACE')
    for (const method of methods) {
      for (const sent of [undefined, key, key, 'k'.repeat(300)]) {
        const before = runs()
        const { status, replayed } = await ask({ method, key: sent })
        expect([method, status, replayed, runs() - before]).toEqual([method, 200, false, 1])
      }
    }
    expect(rows()).toEqual([])
  })

  test('to delete twice leaves what deleting once leaves, without any key [S0-03]', async () => {
    const orders = new Set(['7', '8'])
    const handler = () => {
      orders.delete('7')
      return { status: 204 }
    }
    const { ask, rows } = await site(adapter, { handler })
    const statuses = [await ask({ method: 'DELETE', key: undefined }), await ask({ method: 'DELETE', key: undefined })]
    expect(statuses.map(({ status }) => status)).toEqual([204, 204])
    expect([...orders]).toEqual(['8'])
    expect(rows()).toEqual([])
  })

  test('a POST is made idempotent by its key; without one, where none is demanded, it runs each time [S0-04]', async () => {
    const { ask, runs } = await site(adapter, { options: { key: 'optional' } })
    const [first, again] = [await ask(), await ask()]
    expect([first.status, again.status, again.replayed, runs()]).toEqual([201, 201, true, 1])
    expect(again.bytes.equals(first.bytes)).toBe(true)
    const without = [await ask({ key: undefined }), await ask({ key: undefined })]
    expect(without.map(({ text, replayed }) => [text, replayed])).toEqual([
      ['{"id":2}', false],
      ['{"id":3}', false],
    ])
  })

  test('each route says for itself whether a key is demanded, welcome or not looked at [S0-28]', async () => {
    const { ask, runs } = await site(
      adapter,
      { path: '/required' },
      { path: '/optional', options: { key: 'optional' } },
      { path: '/off', options: { methods: [] } },
    )
    const statuses = async (sent: string | undefined) => {
      const seen: string[] = []
      for (const path of ['/required', '/optional', '/off']) {
        const own = sent && `${sent}${path}`
        const before = runs()
        const [first, second] = [await ask({ path, key: own }), await ask({ path, key: own })]
        seen.push(`${first.status} ${second.status} ran ${runs() - before}`)
      }
      return seen
    }
    expect(await statuses(undefined)).toEqual(['400 400 ran 0', '201 201 ran 2', '201 201 ran 2'])
    expect(await statuses('k')).toEqual(['201 201 ran 1', '201 201 ran 1', '201 201 ran 2'])
  })

  test('what changes state is refused without a key: POST and PATCH, and PUT and DELETE on request [S1-069]', async () => {
    const methods = ['POST', 'PATCH', 'PUT', 'DELETE'] as const
    const { ask, runs, rows } = await site(adapter, { options: { methods } })
    for (const method of methods) {
      const refused = await ask({ method, key: undefined })
      expect([method, refused.status]).toEqual([method, 400])
      expect(JSON.parse(refused.text)).toMatchObject({ code: 'idempotency_key_missing' })
    }
    expect([runs(), rows()]).toEqual([0, []])
    for (const method of methods) {
      const own = `${key}-${method}`
      const answers = [await ask({ method, key: own }), await ask({ method, key: own })]
      expect(answers.map(({ status, replayed }) => [method, status, replayed])).toEqual([
        [method, 201, false],
        [method, 201, true],
      ])
    }
    expect(runs()).toBe(methods.length)
  })

  test('HEAD and OPTIONS get to the byte what they would get without a guard, in front of a broken store too [G-14]', async () => {
    const preflight = { origin: 'https://shop.example', 'access-control-request-method': 'POST' }
    const options = {
      status: 204,
      headers: [
        ['Allow', 'POST, OPTIONS'],
        ['Access-Control-Allow-Origin', '*'],
        ['Access-Control-Allow-Headers', 'Idempotency-Key'],
        ['Cache-Control', 'max-age=600'],
        ['Set-Cookie', 'seen=1'],
      ],
    } as const
    const { ask, rows, hapax } = await site(adapter, { handler: () => options })
    await hapax.close()
    for (const method of ['OPTIONS', 'HEAD']) {
      for (const sent of [undefined, key]) {
        const { status, headers, bytes } = await ask({ method, key: sent, headers: preflight })
        expect([status, bytes.byteLength]).toEqual([204, 0])
        expect(headers).toMatchObject({
          allow: 'POST, OPTIONS',
          'access-control-allow-headers': 'Idempotency-Key',
          'cache-control': 'max-age=600',
          'set-cookie': ['seen=1'],
        })
        const ours = Object.keys(headers).filter((name) => name.startsWith('idempoten'))
        expect(ours).toEqual([])
      }
    }
    expect(rows()).toEqual([])
  })
})

test('any mutating endpoint may be guarded, each of its resources by its own key [S0-33]', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const hapax = engine({ store: memoryStore() })
  const done: string[] = []
  for (const action of ['reserve', 'release', 'refund'])
    app.post(
      `/orders/:id/${action}`,
      guard(
        hapax,
        { name: `orders.${action}`, scope: () => 'acme' },
        {
          async handler({ url }, reply) {
            done.push(url)
            return reply.code(200).send({ url })
          },
        },
      ),
    )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const paths = ['/orders/1/reserve', '/orders/2/reserve', '/orders/1/release', '/orders/1/refund']
  for (const path of paths) {
    const sent = { path, key: `key-of${path}`, body: '{}' }
    const answers = [await ask(port, sent), await ask(port, sent), await ask(port, sent)]
    expect(answers.map(({ status, text, replayed }) => [status, text, replayed])).toEqual([
      [200, JSON.stringify({ url: path }), false],
      [200, JSON.stringify({ url: path }), true],
      [200, JSON.stringify({ url: path }), true],
    ])
  }
  expect(done).toEqual(paths)
  const elsewhere = await ask(port, { path: '/orders/2/reserve', key: 'key-of/orders/1/reserve', body: '{}' })
  expect(elsewhere.status).toBe(422)
  expect(done).toHaveLength(paths.length)
})
