import { describe, expect, test } from 'vitest'
import { bounded } from '../support/waiting.js'
import { airtm, host, signed } from './given.js'

const url = 'http://localhost/webhooks/airtm'

function post(init: RequestInit): Request {
  return new Request(url, { method: 'POST', ...init })
}

describe('a delivery in a Request', () => {
  test('is answered with a Response of the same words', async () => {
    const hapax = host()
    const inbox = airtm(hapax)
    const first = await inbox.fetch(post(signed(hapax)))
    expect([first.status, first.headers.get('content-type'), await first.text()]).toEqual([
      200,
      'application/json',
      '{"status":"ok"}',
    ])
    const second = await inbox.fetch(post(signed(hapax)))
    expect([second.status, await second.text()]).toEqual([200, '{"status":"ok","duplicate":true}'])
    const forged = await inbox.fetch(post({ ...signed(hapax), body: '{}' }))
    expect([forged.status, forged.headers.get('content-type')]).toEqual([401, 'application/problem+json'])
  })

  test('is verified over the bytes that came, in however many pieces', async () => {
    const hapax = host()
    const { headers, body } = signed(hapax)
    const pieces = new ReadableStream({
      start(controller) {
        for (const byte of body) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const request = post({ headers, body: pieces, duplex: 'half' } as RequestInit)
    expect((await airtm(hapax).fetch(request)).status).toBe(200)
  })

  test('without a body is a forged one', async () => {
    const response = await airtm(host()).fetch(new Request(url))
    expect(response.status).toBe(401)
  })

  test('that never ends is refused at the limit, and no more of it is read', async () => {
    const hapax = host()
    let isCancelled = false
    const endless = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(100)),
      cancel: () => {
        isCancelled = true
      },
    })
    const request = post({ body: endless, duplex: 'half' } as RequestInit)
    const response = await bounded(airtm(hapax, { bodyLimit: 1_000 }).fetch(request), 'a response')
    expect([response.status, isCancelled]).toEqual([413, true])
    expect(hapax.told).toEqual([['webhook_refused', { provider: 'airtm', errorCode: 'body_too_large' }]])
  })

  test('that breaks off is malformed, and nothing was stored', async () => {
    const hapax = host()
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })
    const request = post({ headers: signed(hapax).headers, body: broken, duplex: 'half' } as RequestInit)
    expect((await airtm(hapax).fetch(request)).status).toBe(400)
    expect(hapax.steps).toEqual([])
  })

  test.each([
    ['read', (request: Request) => request.text()],
    ['locked', async (request: Request) => void request.body?.getReader()],
  ])('that was %s before is a bug of ours, which the log tells', async (_, before) => {
    const hapax = host()
    const request = post(signed(hapax))
    await before(request)
    expect((await airtm(hapax).fetch(request)).status).toBe(500)
    expect(hapax.logged).toEqual([expect.objectContaining({ message: expect.stringContaining('request unread') })])
  })
})
