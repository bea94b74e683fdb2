import { describe, expect, test } from 'vitest'
import { sqlOn } from './support/database.js'
import { adapters, key, site } from './support/http-site.js'

/** Headers that must not travel further than they came: by every adapter. */

describe.each(adapters)('on %s', (adapter) => {
  test('what belongs to one connection is never replayed, not even where a route names it, and lengths are counted anew [X-02]', async () => {
    const hops = [
      ['Connection', 'X-Hop, Location'],
      ['X-Hop', 'of this connection'],
      ['Location', '/payments/7'],
      ['Keep-Alive', 'timeout=99'],
      ['Proxy-Connection', 'keep-alive'],
      ['Proxy-Authenticate', 'Basic'],
      ['TE', 'trailers'],
      ['Trailer', 'X-Checksum'],
      ['Upgrade', 'h2c'],
      ['Transfer-Encoding', 'chunked'],
    ] as const
    const { ask, row } = await site(adapter, {
      options: { keepHeaders: ['X-Hop'] },
      handler: () => ({ status: 201, headers: hops, body: Buffer.from('{"id":7}') }),
    })
    expect((await ask()).text).toBe('{"id":7}')
    const again = await ask()
    expect([again.status, again.text, again.headers['content-length']]).toEqual([201, '{"id":7}', '8'])
    const own = new Set(['connection', 'keep-alive'])
    const replayed = hops.map(([name]) => name.toLowerCase()).filter((name) => name in again.headers && !own.has(name))
    expect(replayed).toEqual([])
    expect(again.headers['keep-alive']).not.toBe('timeout=99')
    expect(String(row(key).response_headers)).not.toMatch(/hop|location|proxy|trailer/i)
  })

  test.each(['Connection', 'Proxy-Connection', 'Keep-Alive', 'TE', 'Trailer', 'Upgrade', 'Content-Length'])(
    'a route that wants %s replayed refuses to start [X-02]',
    async (name) => {
      const starting = site(adapter, { options: { keepHeaders: [name] } })
      await expect(starting).rejects.toMatchObject({ code: 'policy_invalid' })
    },
  )

  test('a line break in a header never leaves, and what was kept of such an answer runs no second time [X-04]', async () => {
    const headers = [['Location', '/payments/7\r\nSet-Cookie: planted=1']] as const
    const { ask, row, runs } = await site(adapter, {
      handler: () => ({ status: 201, headers, body: Buffer.from('{}') }),
    })
    for (let time = 0; time < 3; time++) {
      const got = await ask()
      expect(got.status).toBeGreaterThanOrEqual(400)
      expect([got.headers['set-cookie'], got.headers.location]).toEqual([undefined, undefined])
    }
    // Some frameworks refuse the header when the handler sets it: then there is no answer, and the handler has failed.
    expect([row(key).status, runs()]).toEqual(runs() === 1 ? ['completed', 1] : ['failed_retryable', 3])
  })

  test('a line break that somebody wrote into a kept header never leaves, and nothing runs again [X-04]', async () => {
    const { ask, path, row, runs } = await site(adapter, {
      handler: () => ({ status: 201, headers: [['Location', '/payments/7']], body: Buffer.from('{}') }),
    })
    await ask()
    const planted = String(row(key).response_headers).replace('/payments/7', '/payments/7\\r\\nSet-Cookie: planted=1')
    sqlOn(path, 'UPDATE hapax_records SET response_headers = ? WHERE idempotency_key = ?', planted, key)
    expect(String(row(key).response_headers)).toContain('planted')
    for (let time = 0; time < 2; time++) {
      const got = await ask()
      expect(got.status).toBeGreaterThanOrEqual(400)
      expect([got.headers['set-cookie'], got.headers.location]).toEqual([undefined, undefined])
    }
    expect([row(key).status, runs()]).toEqual(['completed', 1])
  })
})
