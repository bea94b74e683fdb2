import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plantTree } from './planted-tree.js'

const forbidden = {
  'Date.now()': 'export const planted = Date.now()\n',
  'Date.now as a value': 'export const planted = Date.now\n',
  'new Date()': 'export const planted = new Date()\n',
  'Date()': 'export const planted = Date()\n',
  'performance.now()': 'export const planted = performance.now()\n',
  'process.hrtime': 'export const planted = process.hrtime.bigint()\n',
  'Math.random()': 'export const planted = Math.random()\n',
  setTimeout: 'export const planted = setTimeout(() => undefined, 1)\n',
  setInterval: 'export const planted = setInterval(() => undefined, 1)\n',
  setImmediate: 'export const planted = setImmediate(() => undefined)\n',
  'AbortSignal.timeout': 'export const planted = AbortSignal.timeout(1)\n',
  'a timer by way of globalThis': 'export const planted = globalThis.setTimeout(() => undefined, 1)\n',
  'node:timers': "import { setTimeout } from 'node:timers'\n\nexport const planted = setTimeout\n",
  'node:timers/promises': "import { setTimeout } from 'node:timers/promises'\n\nexport const planted = setTimeout\n",
  'node:perf_hooks': "import { performance } from 'node:perf_hooks'\n\nexport const planted = performance\n",
}

const allowed = {
  'src/engine/given-time.ts': 'export const planted = new Date(5)\n',
  'src/engine/parsed-time.ts': "export const planted = Date.parse('1970-01-01')\n",
  'src/kernel/own-clock.ts': 'export const planted = [Date.now(), Math.random(), setTimeout(() => undefined, 1)]\n',
}

const fileOf = new Map(Object.keys(forbidden).map((what, index) => [what, `src/engine/planted-${index}.ts`]))

let refused: ReadonlySet<string>
let remove: () => void

beforeAll(() => {
  const planted = Object.entries(forbidden).map(([what, text]) => [fileOf.get(what), text])
  const tree = plantTree(['biome.json', '.gitignore', 'scripts/lint'], { ...Object.fromEntries(planted), ...allowed })
  remove = tree.remove
  refused = new Set(lint(tree.folder))
}, 60_000)

afterAll(() => remove())

describe('outside the kernel the lint refuses', () => {
  test.each(Object.keys(forbidden))('%s', (what) => {
    expect(refused).toContain(fileOf.get(what))
  })
})

test.each(Object.keys(allowed))('the lint lets %s pass', (file) => {
  expect(refused).not.toContain(file)
})

const rules = ['plugin', 'lint/style/noRestrictedGlobals', 'lint/style/noRestrictedImports']

/** The files in which Biome finds one of these rules broken. */
function lint(folder: string): readonly string[] {
  const args = ['check', '--reporter=json', '--max-diagnostics=200', 'src']
  const { stdout } = spawnSync(resolve('node_modules/.bin/biome'), args, { cwd: folder, encoding: 'utf8' })
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: Diagnostic[] }
  return diagnostics
    .filter(({ severity, category }) => severity === 'error' && rules.includes(category))
    .map(({ location }) => location.path)
}

interface Diagnostic {
  readonly severity: string
  readonly category: string
  readonly location: { readonly path: string }
}
