import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/**
 * What becomes of a row is said by the source alone: each file of the simulated database asks a step of the engine or of the
 * PostgreSQL store for it, or there is a reason why it needs none. The boundary rules name which step, file by file.
 */

const folder = 'test/simulation/database'

/** What steps do to records, effects, calls and events, and in which order the store asks for them. */
const steps: ReadonlySet<string> = new Set([
  ...['transitions', 'effect-transitions', 'last-write', 'marked-call', 'reaped-event', 'reaped-testimony'].map(
    (name) => `src/engine/${name}.ts`,
  ),
  ...['phase', 'steps', 'in-one-commit', 'batching-table', 'effects/turns', 'single/single', 'single/joined'].map(
    (name) => `src/stores/postgres/${name}.ts`,
  ),
])

/** What needs none, and why. */
const without: Readonly<Record<string, string>> = {
  'asked-deed.ts': 'hands on what the store asks for',
  'calls.ts': 'its changes are call-deeds.ts and forgetting.ts; the rest only reads',
  'canonical.ts': 'is text',
  'cells.ts': 'says what a row is, and knows no record',
  'copies.ts': 'copies what is asked for',
  'database.ts': 'holds rows',
  'durable.ts': 'counts',
  'effect-reads.ts': 'only reads',
  'fenced.ts': 'writes down under which claim others write',
  'joined.ts': 'is a transaction of somebody else, begun and ended there',
  'line.ts': 'says what the server is asked, and when',
  'record-table.ts': 'puts record-deeds.ts and record-batches.ts on a line',
  'server-error.ts': 'is what a server says',
  'shared-statements.ts': 'puts several of record-deeds.ts into one statement',
  'simulated-tx.ts': 'writes rows of the application',
  'table.ts': 'locks rows, and knows no record',
  'transaction.ts': 'commits rows and undoes them, and knows no record',
  'update.ts': 'writes what it is told to, and knows no record',
}

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const asking = files.filter((name) => asks(readFileSync(join(folder, name), 'utf8')))

test('each file of the simulated database asks a step, or says why it needs none', () => {
  expect(files.length).toBeGreaterThan(25)
  expect(files.filter((name) => !asking.includes(name)).sort()).toEqual(Object.keys(without).sort())
})

test('every step that is asked for is there', () => {
  expect([...steps].filter((path) => !existsSync(path))).toEqual([])
})

test('each boundary rule about a file of it is about one that there is', () => {
  const named = required().flatMap(({ module: { path } }) => namesIn(path))
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((name) => !asking.includes(`${name}.ts`))).toEqual([])
})

test.each([
  ['a step', "import * as transitions from '../../../src/engine/transitions.js'", true],
  ['one of several', "import { type Turns, turns } from '../../../src/stores/postgres/effects/turns.js'", true],
  ['only its type', "import type { Turns } from '../../../src/stores/postgres/effects/turns.js'", false],
  ['only its types', "import { type Turns } from '../../../src/stores/postgres/effects/turns.js'", false],
  ['what is no step', "import { limits } from '../../../src/kernel/limits.js'", false],
  ['nothing of the source', "import { seen } from './table.js'", false],
] as const)('whether a file asks a step is seen where it imports %s', (_, source, isAsking) => {
  expect(asks(source)).toBe(isAsking)
})

/** Whether a file there imports a step to call it: a type decides nothing. */
function asks(source: string): boolean {
  const { statements } = ts.createSourceFile('simulation.ts', source, ts.ScriptTarget.Latest)
  return statements.some((one) => ts.isImportDeclaration(one) && isCalled(one.importClause) && steps.has(pathOf(one)))
}

function isCalled(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined || clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return false
  const { namedBindings } = clause
  if (namedBindings === undefined || ts.isNamespaceImport(namedBindings)) return true
  return namedBindings.elements.some(({ isTypeOnly }) => !isTypeOnly)
}

function pathOf({ moduleSpecifier }: ts.ImportDeclaration): string {
  const text = ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : ''
  return posix.join(folder, text).replace(/\.js$/, '.ts')
}

function required(): readonly { readonly module: { readonly path: string } }[] {
  return createRequire(import.meta.url)('../../.dependency-cruiser.cjs').required
}

/** The files that a rule names, as `database/(a|b)\\.ts` or `database/a\\.ts`. */
function namesIn(path: string): readonly string[] {
  const [, names = ''] = /database\/\(?([\w|-]+)\)?\\\.ts/.exec(path) ?? []
  return names.split('|')
}
