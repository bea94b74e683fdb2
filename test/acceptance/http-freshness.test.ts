import { keyFormats } from 'hapax'
import { describe, expect, test } from 'vitest'
import { api } from './support/http-api.js'
import { adapters } from './support/http-site.js'
import { days, hours, minutes, noon, seconds } from './support/times.js'

/** What becomes of a request that comes after its answer is gone. The clocks are in the test's hand; no test waits. */

const header = 'Repeatability-First-Sent'
const sent = (at: number) => ({ [header]: new Date(at).toUTCString() })

describe.each(adapters)('on %s', (adapter) => {
  test('a request that says it was first sent longer ago than answers are kept gets 412, one that does not say gets 400 [S1-081]', async () => {
    const { ask, rows, runs, setTime } = await api(adapter, {
      routes: [{ options: { retention: '48h', freshness: { by: 'header', name: header } } }],
    })
    await setTime(noon)
    const refused = [
      await ask({ key: 'too-old', headers: sent(noon - 2 * days - seconds) }),
      await ask({ key: 'years-old', headers: sent(noon - 900 * days) }),
      await ask({ key: 'in-the-future', headers: sent(noon + hours) }),
      await ask({ key: 'silent' }),
      await ask({ key: 'vague', headers: { [header]: 'the other day' } }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([412, 412, 412, 400, 400])
    expect([rows(), runs()]).toEqual([[], 0])
    expect((await ask({ key: 'just-in-time', headers: sent(noon - 2 * days + 10 * minutes) })).status).toBe(201)
    expect((await ask({ key: 'fresh', headers: sent(noon) })).status).toBe(201)
  })

  test('a route may ask for keys that tell their time: those are let in while they are young, and purged for good after [R-04]', async () => {
    const { ask, reap, rows, runs, setTime } = await api(adapter, {
      routes: [
        { options: { keyRules: { format: keyFormats.timeOrdered }, freshness: { by: 'key' }, tombstone: '1h' } },
      ],
    })
    await setTime(noon)
    const timeless = ['2f1c9a94-3f6e-4c1c-a1a0-0d7f5f1a2b3c', 'order-17', 'b5a9f6a2-0a6e-11f0-9cd2-0242ac120002']
    for (const key of timeless) expect((await ask({ key })).status).toBe(400)
    expect([rows(), runs()]).toEqual([[], 0])
    const keys = [uuidv7(noon), ulid(noon)]
    for (const key of keys) expect((await ask({ key })).status).toBe(201)
    await setTime(noon + days - seconds)
    for (const key of keys) expect(await ask({ key })).toMatchObject({ status: 201, replayed: true })
    // Nothing is left of them, not even a tombstone, and still they cannot run again.
    await setTime(noon + 2 * days)
    for (let pass = 0; pass < 2; pass++) await reap()
    expect(rows()).toEqual([])
    for (const key of keys) expect((await ask({ key })).status).toBe(412)
    expect([rows(), runs()]).toEqual([[], 2])
    expect((await ask({ key: uuidv7(noon + 2 * days) })).status).toBe(201)
  })

  test('an intercepted request that is sent again after its key expired moves no money, by tombstone and by date [X-21]', async () => {
    const { ask, heard, reap, row, rows, runs, setTime } = await api(adapter, {
      routes: [
        { path: '/refusing', options: { name: 'refusing', onExpired: 'refuse', tombstone: '30d' } },
        {
          path: '/dated',
          options: { name: 'dated', tombstone: '1m', freshness: { by: 'header', name: header } },
        },
      ],
    })
    await setTime(noon)
    const refusing = { path: '/refusing', key: 'refused' }
    const dated = { path: '/dated', key: 'dated', headers: sent(noon) }
    for (const request of [refusing, dated]) expect((await ask(request)).status).toBe(201)
    await setTime(noon + days + seconds)
    expect((await ask(refusing)).status).toBe(410)
    expect((await ask(dated)).status).toBe(412)
    await setTime(noon + 3 * days)
    for (let pass = 0; pass < 2; pass++) await reap()
    // The one is known by its tombstone, the other is forgotten altogether and refused by its date.
    expect(row('refused')).toMatchObject({ status: 'expired', response_body: null })
    expect(rows()).toHaveLength(1)
    for (let time = 0; time < 3; time++) {
      expect((await ask(refusing)).status).toBe(410)
      expect((await ask(dated)).status).toBe(412)
    }
    await setTime(noon + 30 * days)
    expect((await ask(refusing)).status).toBe(410)
    expect(runs()).toBe(2)
    expect(heard.map(({ name }) => name)).not.toContain('reused_after_expiry')
  })

  test('dated ahead by what a clock may be wrong, a request is still not run again where expired keys are refused [X-21]', async () => {
    const dated = { freshness: { by: 'header', name: header }, onExpired: 'refuse' } as const
    const { ask, runs, setTime } = await api(adapter, { routes: [{ options: dated }] })
    await setTime(noon)
    const ahead = { headers: sent(noon + 4 * minutes) }
    expect((await ask(ahead)).status).toBe(201)
    await setTime(noon + days + 3 * minutes)
    expect((await ask(ahead)).status).toBe(410)
    await setTime(noon + days + 5 * minutes)
    expect((await ask(ahead)).status).toBeGreaterThanOrEqual(410)
    expect(runs()).toBe(1)
  })

  test('a key that was used again after it expired is told from its first use, for as long as its tombstone stands [X-21]', async () => {
    const { ask, heard, reap, runs, setTime } = await api(adapter)
    await setTime(noon)
    await ask()
    await setTime(noon + days + minutes)
    await reap()
    expect(await ask()).toMatchObject({ status: 201, replayed: false })
    const reused = heard.filter(({ name }) => name === 'reused_after_expiry').map(({ event }) => event)
    expect(reused).toMatchObject([{ scope: 'acme', generation: 2 }])
    expect(runs()).toBe(2)
  })
})

function uuidv7(at: number): string {
  const time = at.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7a3c-9b1d-4f5e6a7b8c9d`
}

function ulid(at: number): string {
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
  const time = Array.from({ length: 10 }, (_, place) => digits[Math.floor(at / 32 ** (9 - place)) % 32])
  return `${time.join('')}3F7QZK8M2N5R9T1V`
}
