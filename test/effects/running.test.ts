import { createHmac } from 'node:crypto'
import { bullmqRelay, effects, httpRelay, pgBossRelay, type RelayMessage, systemClock } from 'hapax'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defaults } from '../../src/kernel/limits.js'
import { bounded, gate, until } from '../support/waiting.js'
import { failure, type Given, given, kind, provider } from './given.js'

let it: Given
beforeEach(async () => {
  it = await given()
})
afterEach(() => it.close())

const honouring = { honoursKeyFor: '24h' } as const

describe('a worker that runs', () => {
  test('carries out at once what it is nudged about, and stops when it is told to', async () => {
    const stop = new AbortController()
    const worker = it.worker({ call: provider('ok').call, ...honouring })
    // The clock of this worker stands still: without a nudge it would wait for ever.
    const running = worker.run(stop.signal)
    const [id = 0] = await it.write({})
    worker.nudge()
    await until(
      () => it.effect(id),
      ({ state }) => state === 'done',
    )
    stop.abort()
    await bounded(running, 'the worker to stop')
  })

  test('gives back what it has not begun when it stops, and lets what runs finish', async () => {
    const ids = await it.write({}, {}, {})
    const begun = gate()
    const go = gate()
    const call = async () => {
      begun.open()
      await go.opened
    }
    const stop = new AbortController()
    const running = it.worker({ call, ...honouring }, { concurrency: 1, clock: systemClock }).run(stop.signal)
    await begun.opened
    stop.abort()
    await until(
      () => it.effect(ids[2] ?? 0),
      ({ state }) => state === 'ready',
    )
    go.open()
    await bounded(running, 'the worker to stop')
    const effects = await Promise.all(ids.map((id) => it.effect(id)))
    expect(effects.map(({ state, started }) => [state, started])).toEqual([
      ['done', 1],
      ['ready', 0],
      ['ready', 0],
    ])
  })
})

describe('of two claims under way', () => {
  test('what the second brings is carried out, though the first comes back with nothing', async () => {
    const ids = await it.write(...Array.from({ length: 5 }, () => ({})))
    let claims = 0
    const store: typeof it.store = {
      ...it.store,
      async claim(query) {
        claims++
        // The first is full, so that two are asked for; the next of them is beaten by another worker.
        return claims === 2 ? [] : it.store.claim(query)
      },
    }
    const stop = new AbortController()
    // Its clock stands still: whoever rests now rests for ever.
    const worker = it.worker({ call: provider('ok').call, ...honouring }, { store, batch: 9, concurrency: 9 })
    const running = worker.run(stop.signal)
    await until(
      () => it.effect(ids[4] ?? 0),
      ({ state }) => state === 'done',
    )
    expect(claims).toBeGreaterThanOrEqual(3)
    stop.abort()
    await bounded(running, 'the worker to stop')
  })
})

describe('once a worker is told to stop', () => {
  test('it stops within a bound, though the store takes nothing back', async () => {
    await it.write({}, {}, {})
    const begun = gate()
    const idle = gate()
    const store: typeof it.store = {
      ...it.store,
      settle: () => new Promise(() => {}),
      async claim(query) {
        const found = await it.store.claim(query)
        if (found.length === 0) idle.open()
        return found
      },
    }
    const stop = new AbortController()
    const call = () => {
      begun.open()
      return new Promise<never>(() => {})
    }
    const worker = it.worker({ call, ...honouring }, { store, concurrency: 1 })
    const running = worker.run(stop.signal)
    await bounded(begun.opened, 'the call')
    await bounded(idle.opened, 'the claim after it')
    stop.abort()
    const isOver = gate()
    void running.then(() => isOver.open())
    // All that it waits for in the end, one after another, each a little after the one before.
    const boundMs = defaults.drainMs + 2 * defaults.lastWordsMs
    for (let ms = 0; ms <= boundMs + 1_000; ms += 200) await it.clock.advance(200)
    await bounded(isOver.opened, 'the worker to stop')
  })

  test('nothing begins, though a claim was on its way', async () => {
    const [id = 0] = await it.write({})
    const asked = gate()
    const go = gate()
    const store: typeof it.store = {
      ...it.store,
      async claim(query) {
        const found = await it.store.claim(query)
        asked.open()
        await go.opened
        return found
      },
    }
    const stop = new AbortController()
    const { call, keys } = provider('ok')
    const running = it.worker({ call, ...honouring }, { store }).run(stop.signal)
    await asked.opened
    stop.abort()
    go.open()
    await bounded(running, 'the worker to stop')
    expect(keys).toEqual([])
    expect(await it.effect(id)).toMatchObject({ state: 'ready', started: 0 })
  })

  test('what it asked for ahead is given back, though it comes late', async () => {
    const [first = 0, second = 0] = await it.write({}, {})
    const asked = gate()
    const go = gate()
    let claims = 0
    const store: typeof it.store = {
      ...it.store,
      async claim(query) {
        const found = await it.store.claim(query)
        if (++claims === 2) {
          asked.open()
          await go.opened
        }
        return found
      },
    }
    const stop = new AbortController()
    const { call, keys } = provider('ok', 'ok')
    const running = it.worker({ call, ...honouring }, { store, batch: 3 }).run(stop.signal)
    await asked.opened
    await until(
      () => it.effect(first),
      ({ state }) => state === 'done',
    )
    expect(await it.effect(second)).toMatchObject({ state: 'leased' })
    stop.abort()
    go.open()
    await bounded(running, 'the worker to stop')
    expect(keys).toHaveLength(1)
    expect(await it.effect(second)).toMatchObject({ state: 'ready', started: 0 })
  })

  test('nothing begins in the place of what ends meanwhile', async () => {
    await it.write({}, {})
    const begun = gate()
    const end = gate()
    const asked = gate()
    const go = gate()
    let claims = 0
    const store: typeof it.store = {
      ...it.store,
      async claim(query) {
        if (++claims > 1) {
          asked.open()
          await go.opened
        }
        return it.store.claim(query)
      },
    }
    let calls = 0
    const call = async () => {
      calls++
      begun.open()
      await end.opened
    }
    const stop = new AbortController()
    const worker = it.worker({ call, ...honouring }, { store, concurrency: 1, clock: systemClock })
    const running = worker.run(stop.signal)
    await begun.opened
    await asked.opened
    stop.abort()
    end.open()
    await until(
      () => it.store.list({ state: 'leased', limit: 9 }),
      ({ effects }) => effects.length === 0,
    )
    go.open()
    await bounded(running, 'the worker to stop')
    expect(calls).toBe(1)
  })
})

test('a call that outlasts the end of its worker is told so, and its effect says why it is in doubt', async () => {
  const [id = 0] = await it.write({})
  const begun = gate()
  let reason: unknown
  const call = ({ signal }: { readonly signal: AbortSignal }) =>
    new Promise(() => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      begun.open()
    })
  const stop = new AbortController()
  const running = it.worker({ call, timeout: '5m' }).run(stop.signal)
  await begun.opened
  stop.abort()
  // Its end is told in steps, so that the clock is moved until it has heard of it.
  await until(
    async () => {
      await it.clock.advance(defaults.drainMs)
      return it.effect(id)
    },
    ({ state }) => state === 'unknown',
  )
  await it.clock.advance(defaults.lastWordsMs)
  await bounded(running, 'the worker to stop')
  expect(reason).toMatchObject({ code: 'engine_closed' })
  expect(await it.effect(id)).toMatchObject({ errorCode: 'engine_closed' })
})

describe('a kind that is relayed', () => {
  test('is handed over, stays ready, is carried out by id, and is handed over again if nobody does', async () => {
    const [id = 0] = await it.write({})
    const sent: RelayMessage[] = []
    const { call, keys } = provider('ok')
    const relay = async (message: RelayMessage) => void sent.push(message)
    const worker = it.worker({ call, relay, visibility: '1m', ...honouring })
    await worker.runOnce()
    const { downstreamKey } = await it.effect(id)
    expect(sent).toEqual([{ effectId: id, kind, key: downstreamKey, payload: { order: 'o-1' } }])
    expect(await it.effect(id)).toMatchObject({ state: 'ready', started: 0, dueAt: it.clock.now() + 60_000 })
    await worker.runOnce()
    expect(sent).toHaveLength(1)
    await it.advance(60_000)
    await worker.runOnce()
    expect(sent).toHaveLength(2)
    expect(keys).toEqual([])
    expect(await worker.carryOut(id)).toBe('done')
    expect(await worker.carryOut(id)).toBe('busy')
    expect(keys).toEqual([downstreamKey])
  })

  test('is carried out once by a consumer that works before it acknowledges', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider('ok')
    const said: unknown[] = []
    const relay = async ({ effectId }: RelayMessage) => void said.push(await worker.carryOut(effectId))
    const worker = it.worker({ call, relay, visibility: '1m', ...honouring })
    await worker.runOnce()
    await it.advance(60_000)
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
    expect(said).toEqual(['done'])
    expect(keys).toHaveLength(1)
    expect(await it.effect(id)).toMatchObject({ state: 'done' })
  })

  test('is not handed over where that it was given back is not durable', async () => {
    await it.write({})
    let sent = 0
    const store: typeof it.store = { ...it.store, settle: async (all) => all.map(() => false) }
    const relay = async () => void sent++
    await it.worker({ call: provider('ok').call, relay, ...honouring }, { store }).runOnce()
    expect(sent).toBe(0)
  })

  test('is not handed over for ever: it is dead, or in doubt where somebody may have called', async () => {
    const [idle = 0, called = 0] = await it.write({}, {})
    const relay = async () => {}
    const { call } = provider(failure('ECONNRESET'))
    const worker = it.worker({ call, relay, visibility: '1m', retry: { within: '1h' }, ...honouring })
    await worker.runOnce()
    expect(await worker.carryOut(called)).toBe('retry')
    await it.advance(3_600_001)
    expect(await worker.runOnce()).toMatchObject({ dead: 1, unknown: 1 })
    expect(await it.effect(idle)).toMatchObject({ state: 'dead', errorCode: 'not_carried_out' })
    expect(await it.effect(called)).toMatchObject({ state: 'unknown', errorCode: 'not_carried_out' })
  })

  test('survives a relay that fails', async () => {
    const [id = 0] = await it.write({})
    const relay = () => Promise.reject(new Error('down'))
    await it.worker({ call: provider('ok').call, relay, ...honouring }).runOnce()
    expect(await it.effect(id)).toMatchObject({ state: 'ready', finished: 0 })
    expect(it.logged).toMatchObject([{ code: 'relay_failed' }])
  })

  test('fits pg-boss, BullMQ and an endpoint that verifies a signature', async () => {
    const message = { effectId: 7, kind, key: 'k', payload: { a: 1 } }
    const seen: unknown[] = []
    const keep = async (...given: unknown[]) => void seen.push(given)
    await pgBossRelay({ send: keep }, 'effects')(message)
    await bullmqRelay({ add: keep })(message)
    expect(seen).toEqual([
      ['effects', message],
      [kind, message],
    ])
    const secret = Buffer.from('a secret').toString('base64')
    let sent: RequestInit = {}
    const fetch = async (_: string, init: RequestInit) => {
      sent = init
      return new Response(null, { status: 204 })
    }
    await httpRelay('https://example.test', { secret: `whsec_${secret}`, fetch, clock: it.clock })(message)
    const headers = new Headers(sent.headers)
    const signed = `effect_7.${headers.get('webhook-timestamp')}.${sent.body}`
    const expected = createHmac('sha256', 'a secret').update(signed).digest('base64')
    expect(headers.get('webhook-signature')).toBe(`v1,${expected}`)
    const refusing = httpRelay('https://example.test', { secret, fetch: async () => new Response('', { status: 500 }) })
    await expect(refusing(message)).rejects.toMatchObject({ code: 'http_500' })
  })
})

describe('a set of effects', () => {
  const call = () => 1
  test.each([
    ['a misspelt option', { a: { call, honorsKeyFor: '1h' } }, 'honorsKeyFor is not an option'],
    ['a misspelt option of retries', { a: { call, retry: { times: 3 } } }, 'retry.times is not an option'],
    ['a bad duration', { a: { call, timeout: '10 s' } }, 'timeout is "10 s"'],
    ['no call', { a: {} }, 'needs a call'],
    ['a name nobody can print', { 'a\n': { call } }, 'printable'],
    ['no attempts', { a: { call, retry: { attempts: 0 } } }, 'whole number from 1'],
    ['a memory of keys that is over before it begins', { a: { call, honoursKeyFor: '1m' } }, 'honoursKeyFor'],
  ])('is refused with %s', (_, definitions, message) => {
    expect(() => effects(definitions as never)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
    expect(() => effects(definitions as never)).toThrow(message)
  })

  test('is refused by a worker whose lease is shorter than a call may take', () => {
    expect(() => it.worker({ call, timeout: '30s' }, { lease: '30s' })).toThrow('longer than the longest timeout')
  })

  test('is refused by a worker whose lease leaves no time to begin the call: it would never be made', () => {
    expect(() => it.worker({ call, timeout: '30s' }, { lease: '30500ms' })).toThrow('by 1000 ms')
    expect(() => it.worker({ call, timeout: '30s' }, { lease: '31s' })).not.toThrow()
  })
})
