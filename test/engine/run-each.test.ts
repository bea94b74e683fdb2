import { type Item, limits, runEach } from 'hapax'
import { expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

function batch() {
  const { hapax, policy, record } = bench()
  const request = { scope: 'acme', policy: policy({ name: 'payouts.create' }) }
  let runs = 0
  const each = (items: readonly Item[], fails: readonly string[] = []) =>
    runEach(hapax, { ...request, items }, async (_work, { key }) => {
      runs++
      if (fails.includes(key)) throw new Error('the bank is closed')
      return `paid ${key}`
    })
  return { hapax, request, each, record, runs: () => runs }
}

const items = ['a', 'b', 'c'].map((key) => ({ key, input: { to: key } }))

test('each item runs once under its own key, and a retry of the whole runs nothing again', async () => {
  const { each, runs } = batch()
  const first = await each(items)
  expect(first).toMatchObject(items.map(({ key }) => ({ kind: 'done', value: `paid ${key}`, replayed: false })))
  expect(await each(items)).toMatchObject(items.map(({ key }) => ({ value: `paid ${key}`, replayed: true })))
  expect(runs()).toBe(3)
})

test('an item that fails concerns no other, and a retry runs only that one', async () => {
  const { each, runs } = batch()
  expect(await each(items, ['b'])).toMatchObject([
    { kind: 'done' },
    { kind: 'failed', error: { message: 'the bank is closed' } },
    { kind: 'done' },
  ])
  expect(await each(items)).toMatchObject([
    { replayed: true },
    { replayed: false, value: 'paid b' },
    { replayed: true },
  ])
  expect(runs()).toBe(4)
})

test('a key that occurs twice runs once, and another payload under it is refused', async () => {
  const { each, runs } = batch()
  const results = await each([
    { key: 'a', input: 1 },
    { key: 'a', input: 1 },
    { key: 'a', input: 2 },
    { key: '', input: 1 },
  ])
  expect(results).toMatchObject([
    { kind: 'done', replayed: false },
    { kind: 'done', replayed: true },
    { kind: 'failed', error: { code: 'idempotency_key_reused_with_different_payload' } },
    { kind: 'failed', error: { code: 'idempotency_key_missing' } },
  ])
  expect(runs()).toBe(1)
})

test('no more items than a bound run at once', async () => {
  const { hapax, request } = batch()
  const all = gate()
  let atOnce = 0
  let most = 0
  const many = Array.from({ length: 3 * limits.itemsAtOnce }, (_, index) => ({ key: `k-${index}` }))
  const results = await runEach(hapax, { ...request, items: many }, async () => {
    most = Math.max(most, ++atOnce)
    if (atOnce === limits.itemsAtOnce) all.open()
    await all.opened
    atOnce--
    return 'ran'
  })
  expect(results).toHaveLength(many.length)
  expect(most).toBe(limits.itemsAtOnce)
})

test('nothing to do gives nothing', async () => {
  expect(await batch().each([])).toEqual([])
})
