import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** What only a step of the engine says of a record or an effect. Whoever asks for a step may name some other members, too. */
const decided: ReadonlySet<string> = new Set([
  ...['state', 'fence', 'attempt', 'claimId', 'leaseUntil', 'onLeaseOver', 'recoveryPoint', 'isBegun', 'answer'],
  ...['evidence', 'errorCode', 'doubtedAt', 'reconcileAfter', 'dueAt', 'started', 'finished'],
])

const folder = 'test/simulation/database'

/** What is asked for is copied whole, before anybody decides anything. */
const copying = 'copies.ts'

test('the simulated database decides nothing of a record or an effect by itself', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && name !== copying)
  expect(files.length).toBeGreaterThan(20)
  const found = files.flatMap((name) =>
    decisions(readFileSync(join(folder, name), 'utf8')).map((what) => `${name}: ${what}`),
  )
  expect(found).toEqual([])
})

test('a step that is written down a second time is seen', () => {
  const sweep = `
    const swept = (record: Row) => ({ ...record, state: 'unknown', leaseUntil: undefined })
    const fence = record.fence + 1
    const claimed = changedRecord(record, { fence })`
  expect(decisions(sweep)).toEqual(['state', 'leaseUntil', 'fence'])
})

/** The names in object literals of all that only a step decides, in order. */
function decisions(source: string): readonly string[] {
  const names: string[] = []
  const visit = (node: ts.Node): void => {
    const isMember = ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)
    if (isMember && ts.isIdentifier(node.name) && decided.has(node.name.text)) names.push(node.name.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('database.ts', source, ts.ScriptTarget.Latest, true))
  return names
}
