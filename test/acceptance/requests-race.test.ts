import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { race } from './support/requests-nodes.js'
import { openShop } from './support/requests-shop.js'

test('a thousand keys, each raced for by fifty requests in four processes: each runs exactly once [S1-030 S1-100]', async () => {
  const { path } = await openShop()
  const effects = `${path}.effects`
  const rounds = Array.from({ length: 50 }, (_, round) => Array.from({ length: 20 }, (_, key) => `k${round}-${key}`))
  const ran = await race({ path, effects, nodes: 4, racersPerNode: 13, rounds })
  const lines = (await readFile(effects, 'utf8')).trim().split('\n')
  expect(lines.sort()).toEqual(rounds.flat().sort())
  expect(ran.reduce((sum, times) => sum + times)).toBe(1_000)
  // A node that never wins was not in the race.
  expect(ran.filter((times) => times > 0).length).toBeGreaterThan(1)
}, 60_000)
