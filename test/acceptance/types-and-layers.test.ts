import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { engine, type RunRequest } from 'hapax'
import { memoryStore } from 'hapax/memory'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { compiled } from './support/compiler.js'

/** The shape of the code: its types as users see them, and who knows whom. */

const root = fileURLToPath(new URL('../../', import.meta.url))

const verdicts = [
  'reserved',
  'resumed',
  'completed',
  'in_progress',
  'unknown',
  'mismatched',
  'expired',
  'incomparable',
  'new',
]

/** A function that knows what to do for these verdicts. */
const switching = (kinds: readonly string[]) => `import type { Verdict } from 'hapax'
  export function act(verdict: Verdict): string {
    switch (verdict.kind) { ${kinds.map((kind) => `case '${kind}': return '${kind}'`).join('\n')} }
  }`

const running = (scope: string) => `import { engine } from 'hapax'
  import { memoryStore } from 'hapax/memory'
  const hapax = engine({ store: memoryStore() })
  void hapax.run({ ${scope} key: 'k', policy: hapax.policy({ name: 'p' }) }, async () => 1)`

const { complaints, classes, writable, unions } = compiled(
  ['dist/index.d.ts', 'dist/stores/memory.d.ts', 'dist/stores/sqlite/index.d.ts', 'dist/conformance/index.d.ts'],
  {
    exhaustive: switching(verdicts),
    forgetful: switching(verdicts.slice(1)),
    inventive: switching([...verdicts, 'perhaps']),
    replaying: `import type { StoredAnswer, Verdict } from 'hapax'
      export const replay = (verdict: Verdict & { kind: 'completed' }): StoredAnswer => verdict.answer`,
    scoped: running(`scope: 'acme',`),
    global: running(''),
  },
)

test('a decision is a closed union: to forget a kind, or to invent one, does not compile [S2-025]', () => {
  expect(complaints.exhaustive).toEqual([])
  expect(complaints.replaying).toEqual([])
  expect(complaints.forgetful).toEqual([expect.stringContaining('lacks ending return statement')])
  expect(complaints.inventive).toEqual([expect.stringContaining('"perhaps"')])
})

test('the published types are closed unions and readonly data; the only class is the error [S2-136]', () => {
  expect(classes).toEqual(['HapaxError'])
  // `Events` maps names to types; nobody ever holds such an object.
  expect(writable.filter((member) => !member.startsWith('Events.'))).toEqual([])
  expect(unions).toMatchObject({
    Outcome: ['answered', 'accepted', 'refused', 'threw'],
    StoredAnswer: ['kept', 'withheld'],
    Verdict: expect.arrayContaining(verdicts),
  })
})

test('there is no key without a scope: not for the compiler, and not at run time', async () => {
  expect(complaints.scoped).toEqual([])
  expect(complaints.global).toEqual([expect.stringContaining("Property 'scope' is missing")])
  const hapax = engine({ store: memoryStore() })
  const policy = hapax.policy({ name: 'p' })
  for (const scope of [undefined, '', {}, { tenant: '' }, { principal: 'usr_1' }]) {
    const request = { scope, key: 'k', policy } as unknown as RunRequest
    const run = hapax.run(request, async () => expect.fail('it ran for everybody'))
    await expect(run, JSON.stringify(scope)).rejects.toMatchObject({ code: 'scope_missing' })
  }
})

test('stores know keys, fingerprints and answers: nothing of payments, nothing of HTTP [S2-047]', () => {
  for (const path of sources('src/stores')) {
    const parts = importsOf(path).map(partOf)
    expect(
      parts.filter((part) => !['kernel', 'engine', 'stores', 'outside'].includes(part)),
      path,
    ).toEqual([])
    expect(codeOf(path), path).not.toMatch(/payment|amount|currency|customer|charge|\bhttp\b/i)
  }
  expect(codeOf('src/engine/store.ts')).not.toMatch(/payment|amount|currency|customer|charge|\bhttp\b/i)
})

test('each layer knows only those below: the caller asks the engine, the engine the port, nobody a caller [S2-031]', () => {
  const mayKnow: Readonly<Record<string, readonly string[]>> = {
    kernel: ['kernel'],
    engine: ['engine', 'kernel'],
    http: ['http', 'engine', 'kernel'],
    stores: ['stores', 'engine', 'kernel'],
  }
  for (const [layer, known] of Object.entries(mayKnow)) {
    for (const path of sources(`src/${layer}`)) {
      const strangers = importsOf(path).filter(
        (target) => partOf(target) !== 'outside' && !known.includes(partOf(target)),
      )
      expect(strangers, path).toEqual([])
    }
  }
  const caller = sources('examples/sandbox/src')
  const reachedInto = caller.flatMap(importsOf).filter((target) => /^(src|dist)\//.test(target))
  expect(reachedInto).toEqual([])
  const controller = codeOf('examples/sandbox/src/payments/record-payment.ts')
  const order = [
    'return guard(',
    'onRequest: authenticate',
    'preValidation: readPayment',
    'handler(',
    'work.commit(',
  ].map((part) => controller.indexOf(part))
  expect(order).toEqual([...order].sort((a, b) => a - b))
  expect(order[0]).toBeGreaterThan(0)
})

test('the memory store looks and writes without a pause in between, and says that no other process sees it [S2-029]', () => {
  expect(codeOf('src/stores/memory.ts')).not.toMatch(/\bawait\b|\.then\(/)
  const published = readFileSync(`${root}dist/stores/memory.d.ts`, 'utf8')
  expect(published.replace(/\s*\*\s*/g, ' ')).toContain('Nothing survives the process and no other process sees it')
})

function sources(folder: string): string[] {
  const found = readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
  return found.filter((name) => name.endsWith('.ts')).map((name) => `${folder}/${name}`)
}

/** What a file imports: paths from the root for its own, names for packages. */
function importsOf(path: string): string[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(root + path, 'utf8'), true, true)
  return importedFiles.map(({ fileName }) =>
    fileName.startsWith('.') ? new URL(fileName, `file:///${path}`).pathname.slice(1) : fileName,
  )
}

function partOf(target: string): string {
  return /^src\/([a-z]+)\b/.exec(target)?.[1] ?? 'outside'
}

/** The text of a file without its comments. */
function codeOf(path: string): string {
  return readFileSync(root + path, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}
