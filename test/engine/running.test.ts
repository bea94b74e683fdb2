import { engine, isHapaxError } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

const request = { scope: 'acme', key: 'k-1', input: { amountCents: 1200 } }

describe('a key that is new', () => {
  test('runs its handler once, and every retry gets the first result', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy() }
    let runs = 0
    const charge = async () => ({ id: `pay_${++runs}` })
    const first = await hapax.run(guarded, charge)
    const retry = await hapax.run(guarded, charge)
    expect(first).toMatchObject({ kind: 'done', value: { id: 'pay_1' }, replayed: false, generation: 1 })
    expect(retry).toMatchObject({ kind: 'done', value: { id: 'pay_1' }, replayed: true, generation: 1 })
    expect(retry.kind === 'done' && retry.expiresAt).toEqual(first.kind === 'done' && first.expiresAt)
    expect(runs).toBe(1)
  })

  test('is reserved in the store before the first line of the handler', async () => {
    const { hapax, policy, record } = bench()
    const seen = await hapax.run({ ...request, policy: policy() }, async () => (await record('k-1'))?.state)
    expect(seen).toMatchObject({ value: 'in_progress' })
    expect((await record('k-1'))?.state).toBe('completed')
  })

  test('passes its result through JSON the first time too, so that a replay cannot differ', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy() }
    const at = new Date(0)
    const first = await hapax.run(guarded, async () => ({ at, gone: undefined }))
    const retry = await hapax.run(guarded, async () => ({ at, gone: undefined }))
    expect(first).toMatchObject({ value: { at: '1970-01-01T00:00:00.000Z' } })
    expect(Object.keys((first as unknown as { value: object }).value)).toEqual(['at'])
    expect((retry as { value: unknown }).value).toEqual((first as { value: unknown }).value)
  })

  test('may return what JSON leaves out: it is gone from the first result too', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy() }
    const row = () => ({ id: 7, save: () => 'saved', tags: new Set(['a']) })
    expect((await hapax.run(guarded, async () => row())) as unknown).toMatchObject({ value: { id: 7, tags: {} } })
    expect(await hapax.run(guarded, async () => row())).toMatchObject({ replayed: true })
  })

  test('may return nothing', async () => {
    const { hapax, policy } = bench()
    const guarded = { ...request, policy: policy() }
    expect(await hapax.run(guarded, async () => {})).toMatchObject({ value: undefined, replayed: false })
    expect(await hapax.run(guarded, async () => {})).toMatchObject({ value: undefined, replayed: true })
  })
})

describe('a key that is known', () => {
  test('is the same request however its input is spelled', async () => {
    const { hapax, policy } = bench()
    const payments = policy()
    await hapax.run({ scope: 'acme', key: 'k', input: { a: 1, b: [2, 3] }, policy: payments }, async () => 'first')
    const retry = await hapax.run(
      { scope: 'acme', key: 'k', input: { b: [2, 3], a: 1.0 }, policy: payments },
      async () => 'second',
    )
    expect(retry).toMatchObject({ value: 'first', replayed: true })
  })

  test('refuses another input, and the first answer stays', async () => {
    const { hapax, policy, record, events } = bench()
    const guarded = { ...request, policy: policy() }
    await hapax.run(guarded, async () => 'first')
    const before = await record('k-1')
    const other = hapax.run({ ...guarded, input: { amountCents: 9900 } }, async () => 'second')
    await expect(other).rejects.toMatchObject({
      code: 'idempotency_key_reused_with_different_payload',
      retryable: false,
    })
    expect(await record('k-1')).toEqual(before)
    expect(events).toContain('mismatched')
  })

  test('refuses another operation under the same key', async () => {
    const { hapax, policy } = bench()
    await hapax.run({ ...request, policy: policy() }, async () => 'first')
    const other = hapax.run({ ...request, policy: policy({ name: 'payments.refund' }) }, async () => 'second')
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused_with_different_payload' })
  })

  test('of another tenant is another key', async () => {
    const { hapax, policy } = bench()
    const payments = policy()
    await hapax.run({ ...request, policy: payments }, async () => 'acme')
    const globex = await hapax.run({ ...request, scope: 'globex', policy: payments }, async () => 'globex')
    expect(globex).toMatchObject({ value: 'globex', replayed: false })
  })

  test('of another principal is another key where the scope says so', async () => {
    const { hapax, policy } = bench()
    const payments = policy()
    const as = (principal: string) => ({ ...request, scope: { tenant: 'acme', principal }, policy: payments })
    await hapax.run(as('ann'), async () => 'ann')
    expect(await hapax.run(as('bob'), async () => 'bob')).toMatchObject({ value: 'bob', replayed: false })
  })

  test('is told to wait while the first still runs, but a mismatch is told first', async () => {
    const { hapax, policy, clock } = bench()
    const guarded = { ...request, policy: policy() }
    const { opened, open } = gate()
    const first = hapax.run(guarded, () => opened)
    await clock.settle()
    const duplicate = hapax.run(guarded, async () => 'second')
    await expect(duplicate).rejects.toMatchObject({
      code: 'idempotency_key_in_progress',
      retryable: true,
      retryAfterMs: 2000,
    })
    const other = hapax.run({ ...guarded, input: 'other' }, async () => 'second')
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused_with_different_payload' })
    open()
    await first
  })
})

describe('what never reaches the store', () => {
  const cases = [
    ['no scope', { scope: '' }, 'scope_missing'],
    ['an empty key', { key: '' }, 'idempotency_key_missing'],
    ['a key of 256 characters', { key: 'k'.repeat(256) }, 'idempotency_key_malformed'],
    ['a key with a line break', { key: 'a\nb' }, 'idempotency_key_malformed'],
    ['an input that is no JSON', { input: 10n }, 'input_not_json'],
    ['an input that JSON would write as something else', { input: { at: Number.NaN } }, 'input_not_json'],
    ['an input that JSON cannot look into', { input: new Map([['amount', 1]]) }, 'input_not_json'],
    ['an input with a function', { input: { pay: () => 1 } }, 'input_not_json'],
  ] as const
  test.each(cases)('%s is refused by name', async (_, change, code) => {
    const { hapax, policy, faults } = bench()
    let runs = 0
    await expect(hapax.run({ ...request, policy: policy(), ...change }, async () => ++runs)).rejects.toMatchObject({
      code,
    })
    expect(runs).toBe(0)
    expect(faults.asked.get('reserve')).toBeUndefined()
  })

  test('a run without a policy, or without a handler, is refused by name', async () => {
    const { hapax, policy } = bench()
    await expect(hapax.run(request as never, async () => 1)).rejects.toMatchObject({ code: 'policy_invalid' })
    await expect(hapax.run({ ...request, policy: policy() }, undefined as never)).rejects.toMatchObject({
      code: 'handler_missing',
    })
  })

  test('an engine without a store does not start', () => {
    expect(() => engine({ store: undefined as never })).toThrow(expect.objectContaining({ code: 'store_unknown' }))
  })
})

test('a store that may forget warns in production', () => {
  const logged: string[] = []
  const before = process.env.NODE_ENV
  process.env.NODE_ENV = 'production'
  try {
    engine({ store: memoryStore(), log: ({ code }) => logged.push(code) })
  } finally {
    process.env.NODE_ENV = before
  }
  expect(logged).toEqual(['store_forgets'])
})

test('an error of another copy of the library is recognised by its code', () => {
  const foreign = Object.assign(new Error('x'), { name: 'HapaxError', code: 'outcome_unknown' })
  expect(isHapaxError(foreign, 'outcome_unknown')).toBe(true)
  expect(isHapaxError(foreign, 'claim_lost')).toBe(false)
  expect(isHapaxError(Object.assign(new Error('x'), { code: 'outcome_unknown' }))).toBe(false)
})

describe('a handler that gives something like a promise', () => {
  test('is waited for, though its then gives nothing back', async () => {
    const { hapax, policy } = bench()
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: that is what this is about.
      then: (resolve: (value: string) => void) => void setTimeout(() => resolve('paid'), 5),
    }
    const run = hapax.run({ ...request, policy: policy() }, () => thenable as unknown as Promise<string>)
    expect(await run).toMatchObject({ value: 'paid' })
  })

  test('has thrown, when its then throws', async () => {
    const { hapax, policy, record } = bench()
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: that is what this is about.
      then() {
        throw new Error('no promise')
      },
    }
    const run = hapax.run({ ...request, policy: policy() }, () => thenable as unknown as Promise<string>)
    await expect(run).rejects.toThrow('no promise')
    expect((await record('k-1'))?.state).toBe('failed_retryable')
  })
})
