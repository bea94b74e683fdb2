import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defaults, effectBounds, limits } from '../../src/kernel/limits.js'
import { type Definition, failure, type Given, given, kind, provider } from './given.js'

let it: Given
beforeEach(async () => {
  it = await given()
})
afterEach(() => it.close())

/** An effect whose call failed in doubt. */
async function doubted(definition: Partial<Definition>): Promise<number> {
  const [id = 0] = await it.write({})
  await it.worker({ call: provider(failure('ECONNRESET')).call, ...definition }).runOnce()
  return id
}

/** Questions that take so long each, and how many are under way. */
function slowly(ms: number) {
  const slow = { asked: [] as string[], running: 0 }
  const ask = async (key: string) => {
    slow.asked.push(key)
    slow.running++
    await new Promise<void>((resolve) => void it.clock.after(ms, resolve))
    slow.running--
  }
  /** Lets one round of questions be answered, once so many are under way. */
  const round = async (atOnce: number) => {
    await expect.poll(() => slow.running).toBe(atOnce)
    await it.advance(ms)
  }
  return { slow, ask, round }
}

describe('many doubts of a slow provider', () => {
  test('are asked about a few at once, and given back before another node may take them', async () => {
    const { slow, ask, round } = slowly(9_000)
    const ids = await it.write(...Array.from({ length: 30 }, () => ({})))
    await it.worker({ call: provider(failure('ECONNRESET')).call }, { batch: 64 }).runOnce()
    const lookup = async ({ key }: { readonly key: string }) => {
      await ask(key)
      return { landed: true, result: 1 } as const
    }
    const startedAt = it.clock.elapsed()
    const pass = it.reconciler({ call: provider('ok').call, lookup }).runOnce()
    for (const atOnce of [1, 8]) await round(atOnce)
    expect(await pass).toMatchObject({ looked: 30, landed: 9, postponed: 21 })
    expect(it.clock.elapsed() - startedAt).toBeLessThan(defaults.beginLooksMs + effectBounds.timeoutMs)
    const left = (await Promise.all(ids.map((id) => it.effect(id)))).filter(({ state }) => state === 'unknown')
    for (const { looks, reconcileAfter = Number.NaN } of left) {
      expect(looks).toBe(0)
      expect(reconcileAfter).toBeLessThanOrEqual(it.clock.now())
    }
    expect(new Set(slow.asked).size).toBe(9)
  })

  test('do not hold up those of another', async () => {
    const never = () => new Promise<never>(() => {})
    const definitions: Record<string, Definition> = {
      slow: { call: provider(failure('ECONNRESET')).call, lookup: never, timeout: '5s' },
      quick: { call: provider(failure('ECONNRESET')).call, lookup: () => ({ landed: true, result: 1 }) as const },
    }
    const both = Array.from({ length: 20 }, (_, index) => ({ kind: index % 2 === 0 ? 'slow' : 'quick' }))
    await it.write(...both)
    await it.workerOf(definitions, { batch: 64 }).runOnce()
    const pass = it.reconcilerOf(definitions).runOnce()
    const quick = async () => (await it.store.list({ state: 'ready', kind: 'quick', limit: 20 })).effects.length
    await expect.poll(quick).toBe(10)
    await it.advance(5_000)
    expect(await pass).toMatchObject({ landed: 10, postponed: 10 })
  })
})

test('a reconciler that is killed holds its doubts no longer than it might have taken', async () => {
  const id = await doubted({ lookup: () => new Promise<never>(() => {}), timeout: '5s' })
  void it.reconciler({ call: provider('ok').call, lookup: () => new Promise<never>(() => {}), timeout: '5s' }).runOnce()
  await expect.poll(async () => (await it.effect(id)).reconcileAfter ?? 0).toBeGreaterThan(it.clock.now())
  const heldMs = ((await it.effect(id)).reconcileAfter ?? 0) - it.clock.now()
  expect(heldMs).toBe(defaults.beginLooksMs + 5_000 + defaults.lookMarginMs)
})

describe('an effect in doubt', () => {
  test('that landed goes on from its result, without a call', async () => {
    const applied: unknown[] = []
    const definition: Definition = {
      call: provider(failure('ECONNRESET')).call,
      lookup: () => ({ landed: true, result: { id: 'esc_1' } }),
      apply: (_, result) => void applied.push(result),
      providerId: (result) => (result as { id: string }).id,
    }
    const id = await doubted(definition)
    expect(await it.reconciler(definition).runOnce()).toMatchObject({ looked: 1, landed: 1 })
    const { call, keys } = provider('again')
    expect(await it.worker({ ...definition, call }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([])
    expect(applied).toEqual([{ id: 'esc_1' }])
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: 'esc_1' })
    expect(it.names()).toEqual(['effect_doubted', 'effect_reconciled', 'effect_done'])
  })

  test('that did not land is called again, but that counts only when nothing can be on its way any more', async () => {
    const lookup = () => ({ landed: false }) as const
    const definition = { call: provider('ok').call, lookup, timeout: '10s', readLag: '5s' } as const
    const id = await doubted({ lookup, timeout: '10s', readLag: '5s' })
    const reconciler = it.reconciler(definition)
    expect(await reconciler.runOnce()).toMatchObject({ looked: 1, notLanded: 0, postponed: 1 })
    await it.advance(14_999)
    expect(await reconciler.runOnce()).toMatchObject({ looked: 0 })
    await it.advance(1)
    expect(await reconciler.runOnce()).toMatchObject({ notLanded: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'ready', looks: 0, firstStartedAt: undefined })
    expect(await it.worker(definition).runOnce()).toMatchObject({ done: 1 })
  })

  test('that nobody can tell about is looked at less and less often, and goes to a person in the end', async () => {
    const lookup = () => undefined
    const id = await doubted({ lookup })
    const reconciler = it.reconciler({ call: provider('ok').call, lookup })
    for (let look = 0; look < effectBounds.looks; look++) {
      expect(await reconciler.runOnce()).toMatchObject({ looked: 1 })
      await it.advance(3_600_000)
    }
    expect(await reconciler.runOnce()).toMatchObject({ looked: 0 })
    expect(await it.effect(id)).toMatchObject({
      state: 'unknown',
      reconcileAfter: undefined,
      looks: effectBounds.looks,
    })
    expect(it.names().at(-1)).toBe('effect_unresolved')
  })

  test('is not counted as looked at while its provider is out, and the provider is left alone', async () => {
    let asked = 0
    const lookup = () => {
      asked++
      throw failure('ECONNREFUSED')
    }
    const id = await doubted({ lookup })
    await doubted({ lookup })
    await doubted({ lookup })
    const reconciler = it.reconciler({ call: provider('ok').call, lookup })
    expect(await reconciler.runOnce()).toMatchObject({ looked: 3, postponed: 3 })
    expect(asked).toBe(1)
    expect(await reconciler.runOnce()).toMatchObject({ looked: 0 })
    for (let hour = 0; hour < 50; hour++) {
      await it.advance(3_600_000)
      await reconciler.runOnce()
    }
    expect(asked).toBe(51)
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', looks: 0 })
    expect(it.names()).not.toContain('effect_unresolved')
  })

  test('whose provider has not answered for days goes to a person: an outage that does not end is none', async () => {
    const lookup = () => {
      throw failure('ECONNREFUSED')
    }
    const id = await doubted({ lookup })
    const reconciler = it.reconciler({ call: provider('ok').call, lookup })
    for (let passedMs = 0; passedMs <= limits.doubtMs; passedMs += 3_600_000) {
      expect(await reconciler.runOnce()).toMatchObject({ looked: 1, postponed: 1 })
      await it.advance(3_600_000)
    }
    expect(await reconciler.runOnce()).toMatchObject({ looked: 1, unresolved: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', reconcileAfter: undefined, looks: 0 })
    expect(it.names().at(-1)).toBe('effect_unresolved')
  })

  test('ends by what a webhook said, before anybody is asked', async () => {
    let asked = 0
    const lookup = () => {
      asked++
      return undefined
    }
    const id = await doubted({ lookup })
    const { downstreamKey } = await it.effect(id)
    const result = new TextEncoder().encode('{"id":"esc_9"}')
    const said = {
      downstreamKey,
      says: 'landed',
      result,
      by: 'webhook:airtm',
      why: 'paid',
      at: it.clock.now(),
    } as const
    const reconciler = it.reconciler({ call: provider('ok').call, lookup }, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ looked: 1, landed: 1 })
    expect(asked).toBe(0)
    expect(it.heard.at(-1)).toMatchObject({ name: 'effect_reconciled', event: { by: 'webhook:airtm', says: 'landed' } })
    expect(await it.effect(id)).toMatchObject({ state: 'ready', result: expect.anything() })
  })

  test('ends by what was said before it began, though nobody can be asked', async () => {
    const [id = 0] = await it.write({})
    const { downstreamKey } = await it.effect(id)
    const result = new TextEncoder().encode('1')
    const said = {
      downstreamKey,
      says: 'landed',
      result,
      by: 'webhook:airtm',
      why: 'paid',
      at: it.clock.now(),
    } as const
    const definition = { call: provider(failure('ECONNRESET')).call }
    await it.worker(definition).runOnce()
    const reconciler = it.reconciler(definition, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ looked: 1, landed: 1 })
  })

  test('and so does one that a worker left behind; where nobody said anything it is for a person', async () => {
    const ids = await it.write({}, {})
    const claimed = await it.store.claim({ kinds: [kind], limit: 2, leaseMs: 1_000 })
    for (const claim of claimed) await it.store.begin(claim, 1_000)
    await it.advance(1_001)
    const definition = { call: provider('ok').call }
    await it.worker(definition).runOnce()
    const [first, second] = await Promise.all(ids.map((id) => it.effect(id)))
    if (first === undefined || second === undefined) throw new Error('there are two')
    const { downstreamKey } = first
    const said = { downstreamKey, says: 'landed', by: 'webhook:airtm', why: 'paid', at: it.clock.now() } as const
    const reconciler = it.reconciler(definition, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ looked: 2, landed: 1, unresolved: 1 })
    expect(await it.effect(second.id)).toMatchObject({ state: 'unknown', reconcileAfter: undefined })
  })

  test('is for a person where it landed, its result is to be applied, and nobody knows it', async () => {
    const definition: Definition = { call: provider(failure('ECONNRESET')).call, apply: () => {} }
    const id = await doubted(definition)
    const { downstreamKey } = await it.effect(id)
    const said = { downstreamKey, says: 'landed', by: 'webhook:airtm', why: 'paid', at: it.clock.now() } as const
    const reconciler = it.reconciler(definition, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ landed: 0, unresolved: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', result: undefined })
  })

  test('that somebody said to have landed is not called again because its provider does not find it', async () => {
    const lookup = () => ({ landed: false }) as const
    const definition: Definition = { call: provider(failure('ECONNRESET')).call, apply: () => {}, lookup }
    const id = await doubted(definition)
    const { downstreamKey } = await it.effect(id)
    const said = { downstreamKey, says: 'landed', by: 'webhook:airtm', why: 'paid', at: it.clock.now() } as const
    await it.advance(60_000)
    const reconciler = it.reconciler(definition, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ notLanded: 0, postponed: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', looks: 1 })
  })

  test('does not end by what was said before it was written: that is about another one', async () => {
    let answer: { landed: false } | undefined
    const definition = { call: provider(failure('ECONNRESET')).call, lookup: () => answer }
    const id = await doubted(definition)
    const { downstreamKey, createdAt } = await it.effect(id)
    const result = new TextEncoder().encode('1')
    const said = { downstreamKey, says: 'landed', result, by: 'webhook:airtm', why: 'paid', at: createdAt - 1 } as const
    const reconciler = it.reconciler(definition, { testimonies: async () => [said] })
    expect(await reconciler.runOnce()).toMatchObject({ landed: 0, postponed: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown' })
    answer = { landed: false }
    await it.advance(60_000)
    expect(await reconciler.runOnce()).toMatchObject({ notLanded: 1 })
  })

  test('does not end by a "not landed" that was said too early', async () => {
    const ids = [await doubted({}), await doubted({})]
    const [early, late] = await Promise.all(ids.map((id) => it.effect(id)))
    const said = (downstreamKey = '') =>
      ({ downstreamKey, says: 'not_landed', by: 'operator:ann', why: 'looked', at: it.clock.now() }) as const
    const testimonies = [said(early?.downstreamKey)]
    await it.advance(10_000)
    testimonies.push(said(late?.downstreamKey))
    const reconciler = it.reconciler({ call: provider('ok').call }, { testimonies: async () => testimonies })
    expect(await reconciler.runOnce()).toMatchObject({ looked: 2, notLanded: 1, unresolved: 1 })
    expect(await it.effect(late?.id ?? 0)).toMatchObject({ state: 'ready' })
  })

  test('does not end by a "not landed" that only a store whose clock has jumped ahead takes for late enough', async () => {
    const definition = { call: provider(failure('ECONNRESET')).call, lookup: () => ({ landed: false }) as const }
    const id = await doubted(definition)
    const reconciler = it.reconciler(definition)
    await it.jump(60_000)
    expect(await reconciler.runOnce()).toMatchObject({ looked: 1, notLanded: 0, postponed: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'unknown' })
    await it.clock.advance(60_000)
    await it.jump(60_000)
    expect(await reconciler.runOnce()).toMatchObject({ notLanded: 1 })
  })
})
