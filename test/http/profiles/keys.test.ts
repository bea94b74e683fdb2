import { describe, expect, test } from 'vitest'
import { api, type Name, names } from './api.js'

describe('lengths of keys', () => {
  const lengths: Record<Name, readonly [shortest: number, longest: number]> = {
    ietf: [1, 255],
    stripe: [1, 255],
    finastra: [1, 40],
    marketplace: [1, 255],
    brandur: [1, 100],
    boundary: [16, 255],
  }
  test.each(names)('%s takes its shortest and its longest key, and refuses the next with 400', async (name) => {
    const { post, runs } = await api(name)
    const [shortest, longest] = lengths[name]
    const send = async (length: number) => (await post({ 'Idempotency-Key': 'k'.repeat(length) })).status
    expect([await send(shortest), await send(longest)]).toEqual([201, 201])
    expect(await send(shortest - 1)).toBe(400)
    expect(await send(longest + 1)).toBe(400)
    expect(runs()).toBe(2)
  })

  test('boundary counts without the whitespace around a key', async () => {
    const { post } = await api('boundary')
    expect((await post({ 'Idempotency-Key': `  ${'k'.repeat(15)}  ` })).status).toBe(400)
  })

  test('finastra takes the key of its own sample', async () => {
    const { post } = await api('finastra')
    expect((await post({ 'Idempotency-Key': 'A8Z5MHwQS7jUmZ' })).status).toBe(201)
  })

  test('stripe and brandur take a key as it is: quotes make another key', async () => {
    for (const name of ['stripe', 'brandur'] as const) {
      const { post, runs } = await api(name)
      await post({ 'Idempotency-Key': 'k-1' })
      await post({ 'Idempotency-Key': '"k-1"' })
      expect(runs()).toBe(2)
    }
  })
})
