import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'

const request = { scope: 'acme', key: 'k-1', input: { amountCents: 1200, note: 'hello' } }
const k1 = new Uint8Array(32).fill(1)
const k2 = new Uint8Array(32).fill(2)

describe('during a rolling deploy', () => {
  test('a record of the old secret is compared under it, by both releases', async () => {
    const { hapax, policy } = bench()
    const before = policy({ fingerprint: { secret: { keys: { k1 }, current: 'k1' } } })
    const after = policy({ fingerprint: { secret: { keys: { k1, k2 }, current: 'k2' } } })
    await hapax.run({ ...request, policy: before }, async () => 'first')
    expect(await hapax.run({ ...request, policy: after }, async () => 'second')).toMatchObject({ value: 'first' })
    const other = hapax.run({ ...request, input: 'other', policy: after }, async () => 'second')
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused_with_different_payload' })
  })

  test('a record of a recipe this release does not know is no mismatch: the caller comes back', async () => {
    const { hapax, policy, record } = bench()
    await hapax.run(
      { ...request, policy: policy({ fingerprint: { secret: { keys: { k2 }, current: 'k2' } } }) },
      async () => 1,
    )
    const stored = await record('k-1')
    let runs = 0
    const older = hapax.run({ ...request, policy: policy() }, async () => ++runs)
    await expect(older).rejects.toMatchObject({ code: 'fingerprint_recipe_unknown', retryable: true })
    expect(runs).toBe(0)
    expect(await record('k-1')).toEqual(stored)
  })

  test('a record of a former strategy is compared under that one', async () => {
    const { hapax, policy } = bench()
    await hapax.run({ ...request, policy: policy() }, async () => 'first')
    const selecting = { strategy: { kind: 'fields', select: ['amountCents'] }, formerly: [{ kind: 'whole' }] } as const
    const after = policy({ fingerprint: selecting })
    expect(await hapax.run({ ...request, policy: after }, async () => 'second')).toMatchObject({ value: 'first' })
    const changed = { ...request, input: { amountCents: 1200, note: 'changed' } }
    await expect(hapax.run({ ...changed, policy: after }, async () => 'second')).rejects.toMatchObject({
      code: 'idempotency_key_reused_with_different_payload',
    })
    const fresh = { ...request, key: 'k-2' }
    await hapax.run({ ...fresh, policy: after }, async () => 'first')
    const respelled = { ...fresh, input: { amountCents: 1200, note: 'changed' } }
    expect(await hapax.run({ ...respelled, policy: after }, async () => 'second')).toMatchObject({ value: 'first' })
  })
})

test('a key that another operation has used is a mismatch, though its recipe is not known here', async () => {
  const { hapax, policy, record } = bench()
  const topups = policy({ name: 'topups.create', fingerprint: { strategy: { kind: 'fields', select: ['note'] } } })
  await hapax.run({ ...request, policy: topups }, async () => 'first')
  const stored = await record('k-1')
  await expect(hapax.run({ ...request, policy: policy() }, async () => 'second')).rejects.toMatchObject({
    code: 'idempotency_key_reused_with_different_payload',
  })
  expect(await record('k-1')).toEqual(stored)
})

test('a body without a canonical form is compared byte by byte and counted, or refused where the policy is strict', async () => {
  const { hapax, policy, events } = bench()
  const told: string[] = []
  const twice = { scope: 'acme', key: 'k-1', input: '\ud800' }
  const fingerprint = { onOpaque: (reason: string) => told.push(reason) }
  await hapax.run({ ...twice, policy: policy({ fingerprint }) }, async () => 'ran')
  expect(events).toContain('compared_as_bytes')
  expect(told).toEqual(['lone_surrogate'])
  await expect(
    hapax.run({ ...twice, policy: policy({ fingerprint: { strict: true } }) }, async () => 'ran'),
  ).rejects.toMatchObject({
    code: 'body_not_canonical',
  })
})
