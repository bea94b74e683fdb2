import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { states, stateTable } from 'hapax'
import { expect, test } from 'vitest'
import { pay, tea } from '../sandbox/payment-client.js'
import { startSandbox } from '../sandbox/sandbox-process.js'

/** What the pages say, held against what the code does. */

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

test('the page of states draws every transition there is, and says of each state what a retry gets [S2-001]', () => {
  const text = page('docs/reference/states.md')
  const drawn = [...text.matchAll(/^ {2}(\S+) --> (\S+): (\w+)$/gm)].map(([, from, to, on]) => `${from} ${on} ${to}`)
  const point = (state: string) => (state === 'none' ? '[*]' : state)
  expect(drawn.sort()).toEqual(stateTable.map(({ from, on, to }) => `${point(from)} ${on} ${point(to)}`).sort())
  const told = [...text.matchAll(/^\| `(\w+)` \| ([^|]{10,}) \| ([^|]{10,}) \|$/gm)].map(([, state]) => state)
  expect(told).toEqual([...states])
  expect(text).toMatch(/`unknown` \| something may have happened \| `outcome_unknown`; it never runs/)
})

test('the contract of a replay is written down and kept: the original 201, never a 200 [S2-071]', async () => {
  const text = page('examples/sandbox/README.md').replaceAll('\n', ' ')
  expect(text).toMatch(/the same `201` with the same bytes, marked `Idempotent-Replayed: true`/)
  const sandbox = await startSandbox()
  const [key, body] = [randomUUID(), tea()]
  const answers = [await pay(sandbox, { key, body }), await pay(sandbox, { key, body })]
  expect(answers.map(({ status, headers }) => `${status} ${headers.get('idempotent-replayed')}`)).toEqual([
    '201 null',
    '201 true',
  ])
})
