import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { effectBounds } from '../../src/kernel/limits.js'
import { failure, type Given, given, kind, provider } from './given.js'

let it: Given
beforeEach(async () => {
  it = await given()
})
afterEach(() => it.close())

const definition = {
  call: provider(failure('no')).call,
  classify: () => 'answered' as const,
  honoursKeyFor: '24h',
} as const

async function dead(): Promise<number> {
  const [id = 0] = await it.write({})
  await it.worker(definition).runOnce()
  return id
}

describe('a dead letter', () => {
  test('is shown with what a redrive would do, and a preview changes nothing', async () => {
    const id = await dead()
    const letters = it.deadLetters(definition)
    await it.advance(60_000)
    expect((await letters.list()).letters).toMatchObject([{ effect: { id }, ageMs: 60_000, plan: { kind: 'call' } }])
    expect(await letters.redrive({ mode: 'preview' })).toMatchObject([{ plan: { kind: 'call' }, redriven: false }])
    expect(await it.effect(id)).toMatchObject({ state: 'dead' })
  })

  test('is redriven with the same key', async () => {
    const id = await dead()
    const { downstreamKey } = await it.effect(id)
    expect(await it.deadLetters(definition).redrive({ mode: 'apply' })).toMatchObject([{ redriven: true }])
    const { call, keys } = provider('ok')
    expect(await it.worker({ ...definition, call }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([downstreamKey])
    expect(it.names()).toContain('effect_redriven')
  })

  test('whose key is forgotten is redriven only by name, by somebody who takes it upon himself', async () => {
    const id = await dead()
    await it.advance(86_400_000)
    const letters = it.deadLetters(definition)
    const refused = { plan: { kind: 'refused', why: 'key_forgotten' }, redriven: false }
    expect(await letters.redrive({ mode: 'apply' })).toMatchObject([refused])
    expect(await letters.redrive({ mode: 'apply', acknowledge: 'may_run_twice' })).toMatchObject([refused])
    expect(await letters.redrive({ mode: 'apply', ids: [id] })).toMatchObject([refused])
    const named = { ids: [id], acknowledge: 'may_run_twice' } as const
    expect(await letters.redrive({ mode: 'preview', ...named })).toMatchObject([{ plan: { kind: 'call_twice' } }])
    expect(await letters.redrive({ mode: 'apply', ...named })).toMatchObject([{ redriven: true }])
    const { call, keys } = provider('ok')
    expect(await it.worker({ ...definition, call }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(1)
  })

  test('is reached by a redrive though more than a page of refused ones comes before it', async () => {
    const refused = effectBounds.deadLetters + 20
    await it.write(...Array.from({ length: refused }, () => ({})))
    for (let pass = 0; pass < 3; pass++) await it.worker(definition).runOnce()
    await it.advance(86_400_000)
    const id = await dead()
    const letters = it.deadLetters(definition)
    const redriven = await letters.redrive({ mode: 'apply', kind })
    expect(redriven.filter((letter) => letter.redriven).map(({ effect }) => effect.id)).toEqual([id])
    expect(redriven.filter(({ plan }) => plan.kind === 'refused')).toHaveLength(effectBounds.deadLetters)
    expect(await it.effect(id)).toMatchObject({ state: 'ready' })
  })

  test('that has its result is only applied again, however old it is', async () => {
    const broken = {
      call: provider({ id: 1 }).call,
      apply: () => Promise.reject(failure('x')),
      honoursKeyFor: '24h',
    } as const
    const [id = 0] = await it.write({})
    await it.worker({ ...broken, retry: { attempts: 1 } }).runOnce()
    await it.advance(86_400_000)
    expect(await it.deadLetters(broken).redrive({ mode: 'apply' })).toMatchObject([
      { plan: { kind: 'apply' }, redriven: true },
    ])
    const { call, keys } = provider('again')
    expect(await it.worker({ ...broken, call, apply: () => {} }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([])
    expect(await it.effect(id)).toMatchObject({ state: 'done' })
  })

  test('is discarded for a reason, and only with one', async () => {
    const id = await dead()
    const letters = it.deadLetters(definition)
    await expect(letters.discard([id], ' ')).rejects.toMatchObject({ code: 'policy_invalid' })
    expect(await letters.discard([id], 'refunded by hand')).toMatchObject([{ id }])
    expect(await it.effect(id)).toMatchObject({ state: 'discarded' })
    expect(it.heard.at(-1)).toMatchObject({ name: 'effect_discarded', event: { why: 'refunded by hand' } })
  })
})
