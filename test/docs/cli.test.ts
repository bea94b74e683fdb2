import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cliReference } from '../../scripts/cli-reference.mjs'

test('the page of the command line is what the program says of itself', { timeout: 120_000 }, () => {
  expect(readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')).toBe(cliReference())
})
