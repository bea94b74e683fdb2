import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { type Definition, failure, type Given, given, provider } from './given.js'

let it: Given
beforeEach(async () => {
  it = await given()
})
afterEach(() => it.close())

function calls() {
  if (it.whole.calls === undefined) throw new Error('the store keeps no calls')
  return it.whole.calls
}

async function tell(id: number, result?: unknown, says: 'landed' | 'not_landed' = 'landed'): Promise<void> {
  const { downstreamKey } = await it.effect(id)
  const kept = result === undefined ? {} : { result: new TextEncoder().encode(JSON.stringify(result)) }
  await calls().testify({ downstreamKey, says, ...kept, by: 'webhook:airtm', why: 'paid' })
}

async function said(id: number) {
  return calls().testimonies([(await it.effect(id)).downstreamKey])
}

/** One that a lookup said not to have landed, so that it is ready to be called again. */
async function foundNotLanded(more: Partial<Definition> = {}): Promise<number> {
  const [id = 0] = await it.write({})
  const definition = { lookup: () => ({ landed: false }) as const, ...more }
  await it.worker({ call: provider(failure('ECONNRESET')).call, ...definition }).runOnce()
  await it.advance(60_000)
  await it.reconciler({ call: provider('ok').call, ...definition }).runOnce()
  expect(await it.effect(id)).toMatchObject({ state: 'ready' })
  return id
}

describe('an effect that is ready to be called again', () => {
  test('and that somebody said to have landed since is done by that, without a call', async () => {
    const applied: unknown[] = []
    const id = await foundNotLanded()
    await tell(id, { id: 'esc_1' })
    const { call, keys } = provider('again')
    const apply = (_: unknown, result: unknown) => void applied.push(result)
    const providerId = (result: unknown) => (result as { id: string }).id
    expect(await it.worker({ call, apply, providerId }, { calls: calls() }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([])
    expect(applied).toEqual([{ id: 'esc_1' }])
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: 'esc_1' })
  })

  test('is in doubt where it landed and its result, which nobody knows, is to be applied', async () => {
    const id = await foundNotLanded()
    await tell(id)
    const { call, keys } = provider('again')
    const worker = it.worker({ call, apply: () => {} }, { calls: calls() })
    expect(await worker.runOnce()).toMatchObject({ unknown: 1 })
    expect(keys).toEqual([])
    expect(await it.effect(id)).toMatchObject({ state: 'unknown', errorCode: 'result_unknown' })
  })

  test('is called where nobody said anything else', async () => {
    await foundNotLanded()
    const { call, keys } = provider('ok')
    expect(await it.worker({ call }, { calls: calls() }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toHaveLength(1)
  })

  test('is not called while what was said about it cannot be read', async () => {
    const id = await foundNotLanded()
    const { call, keys } = provider('ok')
    const testimonies = () => Promise.reject(new Error('down'))
    expect(await it.worker({ call }, { calls: { testimonies } }).runOnce()).toMatchObject({ retried: 1 })
    expect(keys).toEqual([])
    expect(await it.effect(id)).toMatchObject({ state: 'ready', errorCode: 'idempotency_store_unavailable' })
  })

  test('asks the store nothing more the first time', async () => {
    await it.write({})
    let asked = 0
    const testimonies = async () => {
      asked++
      return []
    }
    expect(await it.worker({ call: provider('ok').call }, { calls: { testimonies } }).runOnce()).toMatchObject({
      done: 1,
    })
    expect(asked).toBe(0)
  })
})

describe('a dead letter that somebody said to have landed', () => {
  const definition = { call: provider(failure('422')).call, classify: () => 'answered' as const }

  async function dead(): Promise<number> {
    const [id = 0] = await it.write({})
    await it.worker(definition).runOnce()
    return id
  }

  test('is redriven to what follows from it, as its preview says, and not called', async () => {
    const id = await dead()
    await tell(id, { id: 'esc_1' })
    const letters = it.deadLetters(definition, calls())
    expect((await letters.list()).letters).toMatchObject([{ plan: { kind: 'apply' } }])
    expect(await letters.redrive({ mode: 'preview', ids: [id] })).toMatchObject([{ plan: { kind: 'apply' } }])
    expect(await letters.redrive({ mode: 'apply', ids: [id] })).toMatchObject([{ redriven: true }])
    const { call, keys } = provider('again')
    expect(await it.worker({ ...definition, call }, { calls: calls() }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([])
  })

  test('is so too where its key is forgotten, and nobody needs to take anything upon himself', async () => {
    const id = await dead()
    const honouring = { ...definition, honoursKeyFor: '24h' } as const
    await it.advance(2 * 86_400_000)
    await tell(id, { id: 'esc_1' })
    const letters = it.deadLetters(honouring, calls())
    expect(await letters.redrive({ mode: 'apply' })).toMatchObject([{ plan: { kind: 'apply' }, redriven: true }])
    const { call, keys } = provider('again')
    expect(await it.worker({ ...honouring, call }, { calls: calls() }).runOnce()).toMatchObject({ done: 1 })
    expect(keys).toEqual([])
  })

  test('is refused while something follows from a result that nobody knows', async () => {
    const id = await dead()
    await tell(id)
    const letters = it.deadLetters({ ...definition, apply: () => {} }, calls())
    const refused = { plan: { kind: 'refused', why: 'result_unknown' }, redriven: false }
    expect(await letters.redrive({ mode: 'apply', ids: [id] })).toMatchObject([refused])
    expect(await it.effect(id)).toMatchObject({ state: 'dead' })
  })
})

describe('what a call gives after its time', () => {
  /** A call that answers when it is let, whatever it hears meanwhile, and whose time is over. */
  async function late(options: Parameters<Given['worker']>[1]) {
    const [id = 0] = await it.write({})
    const [begun, answer] = [gate(), gate()]
    const call = async () => {
      begun.open()
      await answer.opened
      return { id: 'esc_1' }
    }
    const definition = { call, timeout: '10s', providerId: (result: unknown) => (result as { id: string }).id } as const
    const pass = it.worker(definition, options).runOnce()
    await begun.opened
    await it.advance(10_000)
    expect(await pass).toMatchObject({ unknown: 1 })
    answer.open()
    return { id, definition }
  }

  test('is evidence, which ends the doubt', async () => {
    const { id, definition } = await late({ calls: calls() })
    await expect.poll(() => said(id)).toMatchObject([{ says: 'landed', by: 'holder' }])
    expect(await it.reconciler(definition, calls()).runOnce()).toMatchObject({ landed: 1 })
    expect(await it.worker(definition).runOnce()).toMatchObject({ done: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: 'esc_1' })
  })

  test('ends the doubt by itself where there is no place for evidence', async () => {
    const { id, definition } = await late({})
    await expect.poll(async () => (await it.effect(id)).state).toBe('ready')
    expect(await it.worker(definition).runOnce()).toMatchObject({ done: 1 })
    expect(await it.effect(id)).toMatchObject({ state: 'done', providerId: 'esc_1' })
  })
})

describe('what a provider was found to have done', () => {
  test.each([
    [{ landed: true, result: { id: 9 } }, 'landed'],
    [{ landed: false }, 'not_landed'],
  ] as const)('stays on record, with who said so: %o', async (answer, says) => {
    const [id = 0] = await it.write({})
    const definition = { call: provider(failure('ECONNRESET')).call, lookup: () => answer }
    await it.worker(definition).runOnce()
    await it.advance(60_000)
    await it.reconciler(definition, calls()).runOnce()
    expect(await it.effect(id)).toMatchObject({ state: 'ready' })
    expect(await said(id)).toMatchObject([{ says, by: 'lookup', why: 'its provider was asked' }])
  })
})

test('what a call gave when its time was over is on record, and ends the doubt about it', async () => {
  const [id = 0] = await it.write({})
  const [begun, go, kept] = [gate(), gate(), gate()]
  const call = async () => {
    begun.open()
    await go.opened
    return { id: 'esc_1' }
  }
  const watched: ReturnType<typeof calls> = {
    ...calls(),
    async testify(testimony) {
      await calls().testify(testimony)
      kept.open()
    },
  }
  const pass = it.worker({ call, timeout: '5s' }, { calls: watched }).runOnce()
  await begun.opened
  await it.clock.advance(5_000)
  expect(await pass).toMatchObject({ unknown: 1 })
  go.open()
  await kept.opened
  expect(await said(id)).toMatchObject([{ says: 'landed', by: 'holder' }])
  await it.advance(1_000)
  expect(await it.reconciler({ call, timeout: '5s' }, calls()).runOnce()).toMatchObject({ landed: 1 })
})
