import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withFigures } from '../../scripts/simulation/results.mjs'

const page = readFileSync(new URL('../../docs/RELIABILITY.md', import.meta.url), 'utf8')

test('the figures in docs/RELIABILITY.md are those on record', () => {
  expect(page).toBe(withFigures(page))
})
