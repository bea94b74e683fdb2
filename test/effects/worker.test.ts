import { systemClock } from 'hapax'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { effectBounds } from '../../src/kernel/limits.js'
import { gate, until } from '../support/waiting.js'
import { failure, type Given, given, kind, provider } from './given.js'

let it: Given
beforeEach(async () => {
  it = await given()
})
afterEach(() => it.close())

const honouring = { honoursKeyFor: '24h' } as const
const day = 86_400_000

describe('an effect', () => {
  test('is carried out once, and a second pass finds nothing', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider({ id: 'esc_1' })
    const worker = it.worker({ call, providerId: (result) => (result as { id: string }).id, ...honouring })
    expect(await worker.runOnce()).toEqual({ claimed: 1, done: 1, retried: 0, unknown: 0, dead: 0 })
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
    const effect = await it.effect(id)
    expect(effect).toMatchObject({ state: 'done', providerId: 'esc_1', finished: 1 })
    expect(JSON.parse(new TextDecoder().decode(effect.result))).toEqual({ id: 'esc_1' })
    expect(keys).toEqual([effect.downstreamKey])
    expect(it.names()).toEqual(['effect_done'])
    expect(it.heard[0]?.event).toEqual({
      scope: 'acme',
      operation: 'orders.create',
      phase: 'ordered',
      kind,
      effect: id,
      attempt: 1,
    })
  })

  test('whose kind nobody defines here is not claimed here', async () => {
    const [id = 0] = await it.write({ kind: 'mail.send' })
    expect(await it.worker({ call: async () => 1 }).runOnce()).toMatchObject({ claimed: 0 })
    expect(await it.effect(id)).toMatchObject({ state: 'ready', started: 0 })
  })

  test('sends the same key on every attempt, to a provider that honours it', async () => {
    await it.write({})
    const { call, keys } = provider(failure('ECONNRESET'), failure('timeout'), 'ok')
    const worker = it.worker({ call, ...honouring })
    expect(await worker.runOnce()).toMatchObject({ retried: 1 })
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
    await it.advance(500)
    expect(await worker.runOnce()).toMatchObject({ retried: 1 })
    await it.advance(1_000)
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(3)
    expect(it.heard[0]).toMatchObject({ name: 'effect_retried', event: { errorCode: 'ECONNRESET', dueInMs: 500 } })
  })

  test('in doubt is not tried blindly once the provider may have forgotten its key', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('ECONNRESET'))
    const worker = it.worker({ call, ...honouring, retry: { attempts: 1_000, within: '30d', first: '1h', max: '1h' } })
    for (let hour = 0; hour < 60; hour++) {
      await worker.runOnce()
      await it.advance(30 * 60_000)
    }
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', errorCode: 'ECONNRESET' })
    expect(keys).toHaveLength(48)
    expect(it.names().at(-1)).toBe('effect_doubted')
  })

  test('that was leased before a crash is not called when its key is forgotten by then', async () => {
    const [id = 0] = await it.write({})
    await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
    await it.advance(day)
    const { call, keys } = provider('ok')
    expect(await it.worker({ call, ...honouring }).runOnce()).toMatchObject({ unknown: 1 })
    expect(keys).toEqual([])
    expect(await it.effect(id)).toMatchObject({ errorCode: 'key_forgotten' })
  })
})

describe('to a provider that honours no keys', () => {
  test('that the call begins is durable before it is made', async () => {
    const [id = 0] = await it.write({})
    let during: unknown
    const call = async () => {
      during = (await it.effect(id)).onLeaseOver
    }
    await it.worker({ call }).runOnce()
    expect(during).toBe('doubt')
  })

  test('an error is a doubt at once, which is looked at once though nobody can be asked', async () => {
    const [id = 0] = await it.write({})
    const { call } = provider(failure('ECONNRESET'))
    expect(await it.worker({ call }).runOnce()).toMatchObject({ unknown: 1 })
    const reconcileAfter = it.clock.now()
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', reconcileAfter, errorCode: 'ECONNRESET' })
  })

  test('what was not sent is tried again, and what was answered never', async () => {
    const [first = 0] = await it.write({})
    const { call, keys } = provider(failure('not_sent'), failure('answered'))
    const worker = it.worker({ call, classify: (error) => (error as { code: 'not_sent' | 'answered' }).code })
    expect(await worker.runOnce()).toMatchObject({ retried: 1 })
    await it.advance(10_000)
    expect(await worker.runOnce()).toMatchObject({ dead: 1 })
    await it.advance(day)
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
    expect(keys).toHaveLength(2)
    expect(await it.effect(first)).toMatchObject({ state: 'dead', errorCode: 'answered' })
  })

  test('a judge of errors that throws leaves a doubt', async () => {
    await it.write({})
    const { call } = provider(failure('x'))
    const classify = () => {
      throw new Error('a bug')
    }
    expect(await it.worker({ call, classify }).runOnce()).toMatchObject({ unknown: 1 })
  })

  test('a call that takes too long is a doubt, whatever it says when it is told to stop', async () => {
    const [id = 0] = await it.write({})
    const begun = gate()
    const call = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(failure('aborted')))
        begun.open()
      })
    const pass = it.worker({ call, timeout: '10s', classify: () => 'not_sent' }).runOnce()
    await begun.opened
    await it.clock.advance(10_000)
    expect(await pass).toMatchObject({ unknown: 1 })
    expect(await it.effect(id)).toMatchObject({ errorCode: 'timeout' })
  })

  test('a worker that dies after the call began leaves a doubt, and nobody calls again', async () => {
    const [id = 0] = await it.write({})
    const [claimed] = await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
    if (claimed === undefined) throw new Error('nothing was claimed')
    await it.store.begin(claimed, 1_000)
    await it.advance(1_001)
    const { call, keys } = provider('ok')
    expect(await it.worker({ call }).runOnce()).toMatchObject({ claimed: 0 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', reconcileAfter: it.clock.now() })
    expect(keys).toEqual([])
    expect(it.names()).toEqual(['effect_doubted'])
  })
})

describe('a lease', () => {
  test('that would end before the call is renewed first, or nothing is sent', async () => {
    await it.write({}, {})
    const first = gate()
    const go = gate()
    const seen: string[] = []
    const call = async ({ key }: { readonly key: string }) => {
      seen.push(key)
      first.open()
      if (seen.length === 1) await go.opened
    }
    const lost: typeof it.store = { ...it.store, renew: async (claims) => claims.map(() => false) }
    const worker = it.worker({ call, timeout: '10s', ...honouring }, { store: lost, concurrency: 1, lease: '12s' })
    const pass = worker.runOnce()
    await first.opened
    // The process was frozen while the first call ran: no timer fired meanwhile.
    const elapsed = it.clock.elapsed
    it.clock.elapsed = () => elapsed() + 5_000
    go.open()
    expect(await pass).toMatchObject({ claimed: 2, done: 1 })
    expect(seen).toHaveLength(1)
    expect(it.names()).toContain('effect_lost')
  })

  test('that can be renewed is, and the call goes out', async () => {
    await it.write({}, {})
    const first = gate()
    const go = gate()
    let calls = 0
    const call = async () => {
      first.open()
      if (++calls === 1) await go.opened
    }
    const worker = it.worker({ call, timeout: '10s', ...honouring }, { concurrency: 1, lease: '12s' })
    const pass = worker.runOnce()
    await first.opened
    const elapsed = it.clock.elapsed
    it.clock.elapsed = () => elapsed() + 5_000
    go.open()
    expect(await pass).toMatchObject({ claimed: 2, done: 2 })
  })

  test('is renewed while its call runs, together with all others', async () => {
    await it.write({}, {}, {})
    const begun = gate()
    const go = gate()
    const call = async () => {
      begun.open()
      await go.opened
    }
    const renewed: number[] = []
    const store: typeof it.store = {
      ...it.store,
      renew(claims, leaseMs) {
        renewed.push(claims.length)
        return it.store.renew(claims, leaseMs)
      },
    }
    const worker = it.worker({ call, timeout: '20s', ...honouring }, { store, lease: '30s' })
    const pass = worker.runOnce()
    await begun.opened
    await it.advance(10_000)
    expect(renewed).toEqual([3])
    go.open()
    expect(await pass).toMatchObject({ done: 3 })
  })

  test('that was lost to another worker ends the call, and what it says is not written', async () => {
    const [id = 0] = await it.write({})
    const begun = gate()
    let reason: unknown
    const call = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          resolve('too late')
        })
        begun.open()
      })
    const worker = it.worker({ call, timeout: '20s', ...honouring }, { lease: '30s' })
    const pass = worker.runOnce()
    await begun.opened
    // Another worker takes it, as if this one had been away for long.
    await it.store.settle([{ claim: { id, fence: 1 }, outcome: { kind: 'retry', dueInMs: 0, errorCode: 'x' } }])
    await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 60_000 })
    await it.clock.advance(10_000)
    expect(await pass).toMatchObject({ claimed: 1, done: 0 })
    expect(reason).toMatchObject({ code: 'claim_lost' })
    expect(it.names()).toContain('effect_lost')
    expect(await it.effect(id)).toMatchObject({ state: 'leased', fence: 2 })
  })
})

describe('retries', () => {
  test('of what was never sent end after so many attempts, in a dead letter', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('down'))
    const worker = it.worker({ call, classify: () => 'not_sent', retry: { attempts: 3 } })
    for (let pass = 0; pass < 5; pass++) {
      await worker.runOnce()
      await it.advance(60_000)
    }
    expect(keys).toHaveLength(3)
    expect(await it.effect(id)).toMatchObject({ state: 'dead', errorCode: 'down' })
    expect(it.names().at(-1)).toBe('effect_dead')
  })

  test('of which only the last was not sent end in a doubt: one before it may have landed', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('doubt'), failure('not_sent'))
    let landed: true | undefined
    const definition = {
      call,
      ...honouring,
      classify: (error: unknown) => (error as { code: 'doubt' | 'not_sent' }).code,
      lookup: () => landed && { landed, result: 'ok' },
      retry: { attempts: 2 },
    } as const
    const worker = it.worker(definition)
    expect(await worker.runOnce()).toMatchObject({ retried: 1 })
    await it.advance(60_000)
    expect(await worker.runOnce()).toMatchObject({ unknown: 1, dead: 0 })
    landed = true
    expect(await it.reconciler(definition).runOnce()).toMatchObject({ landed: 1 })
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(2)
    expect(await it.effect(id)).toMatchObject({ state: 'done' })
  })

  test('of what was not sent, to a provider that honours keys, end in a dead letter once evidence agrees', async () => {
    const [id = 0] = await it.write({})
    const definition = {
      call: provider(failure('down')).call,
      ...honouring,
      classify: () => 'not_sent' as const,
      lookup: () => ({ landed: false }) as const,
      retry: { attempts: 2 },
    } as const
    const worker = it.worker(definition)
    await worker.runOnce()
    await it.advance(60_000)
    expect(await worker.runOnce()).toMatchObject({ unknown: 1 })
    await it.advance(60_000)
    expect(await it.reconciler(definition).runOnce()).toMatchObject({ notLanded: 1 })
    expect(await worker.runOnce()).toMatchObject({ dead: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'dead', errorCode: 'down' })
  })

  test('of what may have landed end in a doubt, which evidence ends', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('ECONNRESET'))
    let landed = false
    const lookup = () => (landed ? { landed, result: 'ok' } : undefined)
    const definition = { call, lookup, ...honouring, retry: { attempts: 2 } } as const
    const worker = it.worker(definition)
    await worker.runOnce()
    await it.advance(60_000)
    expect(await worker.runOnce()).toMatchObject({ unknown: 1, dead: 0 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', reconcileAfter: it.clock.now() })
    landed = true
    expect(await it.reconciler(definition).runOnce()).toMatchObject({ landed: 1 })
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(2)
  })

  test('of what may have landed end in a dead letter once evidence says that it did not', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('ECONNRESET'))
    const definition = {
      call,
      lookup: () => ({ landed: false }) as const,
      ...honouring,
      retry: { attempts: 1 },
    } as const
    const worker = it.worker(definition)
    expect(await worker.runOnce()).toMatchObject({ unknown: 1 })
    await it.advance(60_000)
    expect(await it.reconciler(definition).runOnce()).toMatchObject({ notLanded: 1 })
    expect(await worker.runOnce()).toMatchObject({ dead: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'dead', errorCode: 'ECONNRESET' })
    expect(keys).toHaveLength(1)
  })

  test('end when it was written too long ago', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(failure('down'))
    const worker = it.worker({ call, ...honouring, retry: { within: '1h', first: '1h' } })
    await worker.runOnce()
    await it.advance(40 * 60_000)
    await worker.runOnce()
    expect(keys).toHaveLength(2)
    expect(await it.effect(id)).toMatchObject({ state: 'unknown' })
  })

  test('of one that ends its worker each time stop, in a doubt, and others go on', async () => {
    const [bad = 0, good = 0] = await it.write({ kind: 'bad' }, { kind: 'good' })
    for (let death = 0; death < effectBounds.poison; death++) {
      await it.store.claim({ kinds: ['bad'], limit: 1, leaseMs: 1_000 })
      await it.advance(1_001)
    }
    const { call, keys } = provider('ok')
    const worker = it.workerOf({ bad: { call, ...honouring }, good: { call, ...honouring } })
    expect(await worker.runOnce()).toMatchObject({ unknown: 1, done: 1 })
    expect(keys).toHaveLength(1)
    expect(await it.effect(bad)).toMatchObject({ state: 'unknown', errorCode: 'poison' })
    expect(await it.effect(good)).toMatchObject({ state: 'done' })
  })

  test('of one that ends its worker after evidence that it did not land, again and again, stop as well', async () => {
    const [id = 0] = await it.write({})
    for (let death = 0; death < effectBounds.poison; death++) {
      const [claimed] = await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
      if (claimed === undefined) throw new Error('nothing was claimed')
      await it.store.begin(claimed, 1_000)
      await it.advance(1_001)
      const worker = it.worker({ call: () => 1 })
      expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
      await it.advance(60_000)
      await it.reconciler({ call: () => 1, lookup: () => ({ landed: false }) }).runOnce()
    }
    const { call, keys } = provider('ok')
    expect(await it.worker({ call }).runOnce()).toMatchObject({ dead: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'dead', errorCode: 'poison' })
    expect(keys).toEqual([])
  })

  test('are not held against an effect that was never called, because the replies to its claims were lost', async () => {
    const [id = 0] = await it.write({})
    for (let lost = 0; lost < effectBounds.poison; lost++) {
      await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
      await it.advance(1_001)
    }
    const { call, keys } = provider('ok')
    expect(await it.worker({ call }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(1)
    expect(await it.effect(id)).toMatchObject({ state: 'done' })
  })
})

describe('those that were leased together by workers that died', () => {
  test('are carried out one by one, each claimed by itself, so that one death counts against one', async () => {
    const ids = await it.write({}, {}, {})
    for (let death = 0; death < effectBounds.suspicious; death++) {
      await it.store.claim({ kinds: [kind], limit: 3, leaseMs: 1_000 })
      await it.advance(1_001)
    }
    const leasedDuringCalls: number[] = []
    const call = async () => {
      const { effects } = await it.store.list({ state: 'leased', limit: 10 })
      leasedDuringCalls.push(effects.length)
    }
    expect(await it.worker({ call, ...honouring }).runOnce()).toMatchObject({ claimed: 3, done: 3 })
    expect(leasedDuringCalls).toEqual([1, 1, 1])
    for (const id of ids) expect(await it.effect(id)).toMatchObject({ state: 'done', started: 3 })
  })
})

describe('a suspect', () => {
  const notSent = {
    classify: () => 'not_sent' as const,
    retry: { first: '100h', max: '100h', within: '900d' },
  } as const
  async function suspicious(...ids: readonly number[]): Promise<void> {
    for (let death = 0; death < effectBounds.suspicious; death++) {
      await it.store.claim({ kinds: [kind], limit: ids.length, leaseMs: 1_000 })
      await it.advance(1_001)
    }
  }

  test('that is found again while it waits for its turn is carried out once, and then waits as others do', async () => {
    const ids = await it.write({}, {}, {})
    await suspicious(...ids)
    const begun = gate()
    const go = gate()
    const keys: string[] = []
    const call = async ({ key }: { readonly key: string }) => {
      keys.push(key)
      begun.open()
      await go.opened
      throw failure('refused')
    }
    const worker = it.worker({ call, timeout: '10s', ...notSent })
    const first = worker.runOnce()
    await begun.opened
    await it.advance(effectBounds.suspectMs)
    const second = worker.runOnce()
    await until(
      () => it.store.list({ state: 'ready', limit: 9 }),
      ({ effects }) => effects.filter(({ dueAt }) => dueAt > it.clock.now()).length === 2,
    )
    go.open()
    expect(await first).toMatchObject({ claimed: 3, retried: 3 })
    expect(await second).toMatchObject({ claimed: 2, retried: 0 })
    expect(new Set(keys).size).toBe(3)
    expect(keys).toHaveLength(3)
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
  })

  test('that another worker carried out meanwhile is due when that one said', async () => {
    const ids = await it.write({}, {})
    await suspicious(...ids)
    const begun = gate()
    const go = gate()
    let calls = 0
    const call = async () => {
      calls++
      begun.open()
      await go.opened
      throw failure('refused')
    }
    const pass = it.worker({ call, ...notSent }).runOnce()
    await begun.opened
    const [second] = await it.store.claim({ kinds: [kind], ids: [ids[1] ?? 0], limit: 1, leaseMs: 1_000 })
    if (second === undefined) throw new Error('it was not to be had')
    await it.store.settle([{ claim: second, outcome: { kind: 'retry', dueInMs: day, errorCode: 'refused' } }])
    go.open()
    expect(await pass).toMatchObject({ claimed: 2, retried: 1 })
    expect(calls).toBe(1)
    expect(await it.effect(second.id)).toMatchObject({ state: 'ready', dueAt: it.clock.now() + day, fence: 5 })
  })

  test('that did not end its worker is none any more', async () => {
    const ids = await it.write({}, {})
    await suspicious(...ids)
    let underWay = 0
    let most = 0
    const call = async () => {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay--
      throw failure('refused')
    }
    const worker = it.worker({ call, ...notSent })
    expect(await worker.runOnce()).toMatchObject({ retried: 2 })
    expect(most).toBe(1)
    await it.advance(5 * day)
    expect(await worker.runOnce()).toMatchObject({ retried: 2 })
    expect(most).toBe(2)
  })
})

describe('what an effect leads to', () => {
  test('commits together with its end', async () => {
    const [id = 0] = await it.write({})
    const [claimed] = await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 60_000 })
    if (claimed === undefined) throw new Error('nothing was claimed')
    await it.store.apply(claimed, { providerId: undefined, result: new Uint8Array() }, async (tx) => {
      await tx.run({ sql: 'CREATE TABLE escrows (id TEXT)' })
    })
    const [second = 0] = await it.write({})
    const worker = it.worker({
      call: () => ({ id: 'esc_2' }),
      ...honouring,
      apply: async (tx, result, { payload, key }) => {
        expect(payload).toEqual({ order: 'o-1' })
        expect(key).toMatch(/^dk-/)
        await tx.run({ sql: 'INSERT INTO escrows VALUES (?)', parameters: [(result as { id: string }).id] })
      },
    })
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'done' })
    expect(await it.effect(second)).toMatchObject({ state: 'done' })
  })

  test('is tried again when it fails, and the provider is not called a second time', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider({ id: 'esc_3' })
    let tries = 0
    const apply = () => {
      if (++tries < 3) throw failure('deadlock')
    }
    const providerId = (result: unknown) => (result as { id: string }).id
    const worker = it.worker({ call, apply, providerId })
    expect(await worker.runOnce()).toMatchObject({ retried: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'ready', providerId: 'esc_3', errorCode: 'deadlock' })
    await it.advance(60_000)
    await worker.runOnce()
    await it.advance(60_000)
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(1)
    expect(tries).toBe(3)
  })

  test('is all that is done again after a crash between the two', async () => {
    const [id = 0] = await it.write({})
    const [claimed] = await it.store.claim({ kinds: [kind], limit: 1, leaseMs: 1_000 })
    if (claimed === undefined) throw new Error('nothing was claimed')
    await it.store.begin(claimed, 1_000)
    await it.store.record(claimed, { providerId: 'esc_4', result: new TextEncoder().encode('{"id":"esc_4"}') })
    await it.advance(1_001)
    const { call, keys } = provider('again')
    const applied: unknown[] = []
    expect(await it.worker({ call, apply: (_, result) => void applied.push(result) }).runOnce()).toMatchObject({
      done: 1,
    })
    expect(keys).toEqual([])
    expect(applied).toEqual([{ id: 'esc_4' }])
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: 'esc_4' })
  })

  test.each([
    ['holds a NUL', 'esc\u00001'],
    ['is too long', 'x'.repeat(256)],
  ])('a provider id that %s is left out, and told', async (_, text) => {
    const [id = 0] = await it.write({})
    const worker = it.worker({ call: () => text, providerId: (result) => result as string, ...honouring })
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: undefined })
    expect(it.logged.map(({ code }) => code)).toEqual(['provider_id_unusable'])
  })

  test('a result that cannot be kept is a doubt, not a second call', async () => {
    const [id = 0] = await it.write({})
    const { call, keys } = provider(10n)
    const worker = it.worker({ call, ...honouring })
    expect(await worker.runOnce()).toMatchObject({ unknown: 1 })
    await it.advance(day)
    expect(await worker.runOnce()).toMatchObject({ claimed: 0 })
    expect(keys).toHaveLength(1)
    expect(await it.effect(id)).toMatchObject({ errorCode: 'result_lost' })
    expect(it.logged.map(({ code }) => code)).toEqual(['effect_result_lost'])
  })
})

describe('a pass', () => {
  test('has no more calls under way than it may', async () => {
    await it.write(...Array.from({ length: 20 }, () => ({})))
    let underWay = 0
    let most = 0
    const call = async () => {
      most = Math.max(most, ++underWay)
      await new Promise((resolve) => setImmediate(resolve))
      underWay--
    }
    expect(await it.worker({ call, ...honouring }, { concurrency: 4 }).runOnce()).toMatchObject({ done: 20 })
    expect(most).toBe(4)
  })

  test('settles what ends together in few writes', async () => {
    await it.write(...Array.from({ length: 50 }, () => ({})))
    let settlements = 0
    const store: typeof it.store = {
      ...it.store,
      settle(all) {
        settlements++
        return it.store.settle(all)
      },
    }
    const worker = it.worker({ call: async () => 1, ...honouring }, { store, concurrency: 50 })
    expect(await worker.runOnce()).toMatchObject({ done: 50 })
    expect(settlements).toBeLessThanOrEqual(3)
  })

  test('settles what one write could not, each by itself', async () => {
    await it.write({}, {}, {})
    const store: typeof it.store = {
      ...it.store,
      settle(all) {
        return all.length > 1 ? Promise.reject(new Error('one of them is bad')) : it.store.settle(all)
      },
    }
    const worker = it.worker({ call: async () => 1, ...honouring }, { store, clock: systemClock })
    expect(await worker.runOnce()).toMatchObject({ done: 3 })
  })

  test('keeps the order of those that share one', async () => {
    const order = 'o-1'
    await it.write({ order }, { order }, { order: 'o-2' })
    const worker = it.worker({ call: async () => 1, ...honouring })
    expect(await worker.runOnce()).toMatchObject({ done: 2 })
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
  })
})
