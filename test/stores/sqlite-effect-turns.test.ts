import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { claimed } from './given.js'
import { openStore } from './sqlite-fixtures/given.js'

const asked = { kinds: ['receipt.send'], limit: 64, leaseMs: 10_000 }

test('behind one dead effect, 100,000 of its order stand in no index that a claim walks', async () => {
  const store = await openStore()
  const { effects } = store
  if (effects === undefined) throw new Error('a SQLite store has an outbox')
  const write = async (key: string, count: number, order: string) => {
    const names = Array.from({ length: count }, (_, index) => index)
    const written = names.map((name) => effect(`${key} ${name}`, { order, sequence: name + 1 }))
    const write = { kind: 'complete', ...completion() } as const
    await store.transaction(await claimed(store, key), async () => ({ value: undefined, write, effects: written }))
  }
  const candidates = async () =>
    (await store.query({ sql: `SELECT count(*) AS n FROM hapax_effect_states WHERE state = 'ready' AND is_next = 1` }))
      .rows[0]?.n
  for (let batch = 0; batch <= 10; batch++) await write(`batch ${batch}`, batch === 0 ? 1 : 10_000, 'ride 7')
  const [first] = await effects.claim(asked)
  if (first === undefined) throw new Error('the first of an order can be claimed')
  await effects.settle([{ claim: first, outcome: { kind: 'dead', errorCode: 'card_closed' } }])
  expect(await candidates()).toBe(0)
  expect(await effects.claim(asked)).toEqual([])
  await write('another', 1, 'ride 8')
  expect(await effects.claim(asked)).toMatchObject([{ order: 'ride 8' }])
  await effects.discard([first.id])
  expect(await candidates()).toBe(1)
  expect(await effects.claim(asked)).toMatchObject([{ order: 'ride 7' }])
}, 60_000)
