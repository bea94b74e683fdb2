import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { bounded, until } from '../support/waiting.js'

/** The workers as a process of their own, and the comparison of ledgers, as a person runs them. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')

test('hapax work finishes what a request left half-done, and SIGTERM ends it: exit 0', async () => {
  const { directory, perform } = await application()
  await perform('k-1', 'fails')
  const working = started(['work', './hapax.mjs'], directory)
  await working.says(/^hapax works on \.\/hapax\.mjs: sweeper, reconciler, resumer, reaper\n/)
  await working.says(/resumer: 1 finished/)
  working.child.kill('SIGTERM')
  expect(await working.code()).toBe(0)
  expect(working.stdout()).toMatch(/hapax stops: what runs may finish\n$/)
  expect(await perform('k-1', 'works')).toMatchObject({ value: { paid: true }, replayed: true })
})

test('hapax work lets an operation that runs finish before it ends; a second signal ends it at once', async () => {
  const { directory, perform } = await application()
  await perform('slow-1', 'fails')
  const patient = started(['work', './hapax.mjs'], directory)
  await patient.says(/began slow-1/)
  patient.child.kill('SIGINT')
  expect(await patient.code()).toBe(0)
  expect(patient.stdout()).toMatch(/resumer: 1 finished/)

  await perform('hangs-1', 'fails')
  const impatient = started(['work', './hapax.mjs'], directory)
  await impatient.says(/began hangs-1/)
  impatient.child.kill('SIGTERM')
  await impatient.says(/hapax stops/)
  impatient.child.kill('SIGTERM')
  expect(await impatient.code()).toBe(1)
})

test('hapax work --once makes one pass of each and exits 0; of a database, of those that need no code', async () => {
  const { directory } = await application()
  const all = hapax(['work', './hapax.mjs', '--once'], directory)
  expect(all).toMatchObject({ code: 0, stdout: lines('sweeper', 'reconciler', 'resumer', 'reaper') })
  expect(hapax(['work', 'a.db', '--once'], directory)).toMatchObject({ code: 0, stdout: lines('sweeper', 'reaper') })
  const only = hapax(['work', './hapax.mjs', '--once', '--only', 'reaper'], directory)
  expect(only).toMatchObject({ code: 0, stdout: lines('reaper') })
})

test.each([
  [['work']],
  [['work', './hapax.mjs', '--only', 'sleeper']],
  [['work', 'a.db', '--only', 'resumer']],
  [['work', './missing.mjs']],
  [['work', './empty.mjs']],
  [['reconcile', 'a.db']],
  [['reconcile', './hapax.mjs', '--testify']],
  [['reconcile', './hapax.mjs', '--ledger', 'missing.csv']],
  [['reconcile', './hapax.mjs', '--ledger', 'empty.mjs', '--since', 'yesterday']],
])('wrong usage says so in one line: exit 2 for %j', async (args) => {
  const { directory } = await application()
  writeFileSync(join(directory, 'empty.mjs'), 'export const nothing = 1\n')
  const { code, stdout, stderr } = hapax(args, directory)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^hapax: [^\n]+\n$/)
})

test('hapax reconcile --ledger tells both directions, settles a doubt by --testify, and then agrees: exit 1, then 0', async () => {
  const { directory, perform, keys } = await application()
  for (const key of ['paid-1', 'paid-2']) await perform(key, 'works')
  await perform('doubt-1', 'doubt')
  const [one, two, doubt] = await keys()
  const ledger = join(directory, 'day.csv')
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms']

  writeFileSync(
    ledger,
    `Key,id,amount,status,at\n${one},ch_1,"1,500.00",settled,2026-01-01\n${doubt},ch_3,5,settled,\nnobody,ch_9,7,settled,\n${two},ch_2,5,failed,\n`,
  )
  const first = hapax([...args, '--landed', 'settled'], directory)
  expect(first.code).toBe(1)
  expect(first.stdout).toMatch(/^compared 3 keys of the provider with 3 calls and effects of ours\n/)
  expect(first.stdout).toMatch(/1 the provider has, and we know nothing of:\n {2}nobody {2}ch_9 {2}7 {2}settled\n/)
  expect(first.stdout).toMatch(
    new RegExp(`1 we hold as done, and the provider does not have:\\n {2}${two} {2}call {2}acme`),
  )
  expect(first.stdout).toMatch(
    new RegExp(`1 the provider has, and we did not know \\(--testify settles them\\):\\n {2}${doubt}`),
  )
  expect(first.stdout).toMatch(/They do not agree\.\n$/)

  const json = (key: string | undefined, id: string) => `${JSON.stringify({ downstream_key: key, id })}\n`
  writeFileSync(ledger, json(one, 'ch_1') + json(two, 'ch_2') + json(doubt, 'ch_3'))
  const testified = hapax([...args, '--testify', '--json'], directory)
  expect(testified.code).toBe(1)
  expect(JSON.parse(testified.stdout)).toMatchObject({
    agree: false,
    testified: 1,
    open: { count: 1 },
    orphans: { count: 0 },
  })
  expect(hapax(args, directory)).toMatchObject({ code: 0, stdout: expect.stringMatching(/Both sides agree\.\n$/) })
})

/** An application in a directory of its own: its module, and what its requests do. */
async function application() {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-work-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(
    join(directory, 'hapax.mjs'),
    `import { engine } from '${root}dist/index.js'
import { sqliteStore } from '${root}dist/stores/sqlite/index.js'
export const hapax = engine({ store: sqliteStore({ path: 'a.db' }) })
hapax.operation('payments.create', { version: 1, retention: '1d' }, async (work, { key }) => {
  console.log('began ' + key)
  if (key.startsWith('hangs')) await new Promise(() => setInterval(() => {}, 1_000))
  if (key.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 700))
  return { status: 201, body: { paid: true } }
})
// What a module may well do, and what must not keep the process.
setInterval(() => {}, 1_000)
`,
  )
  const store = sqliteStore({ path: join(directory, 'a.db') })
  const made = engine({ store })
  await made.open()
  onTestFinished(() => made.close())
  let how: 'fails' | 'works' | 'doubt' = 'works'
  const operation = made.operation(
    'payments.create',
    { version: 1, retention: '1d' },
    async (work, { key }: { key: string }) => {
      if (how === 'fails') throw new Error('the disk was full')
      await work.call('charged', {
        input: key,
        run() {
          if (how === 'doubt') throw new Error('socket hang up')
          return { id: 'ch' }
        },
      })
      return { status: 201, body: { paid: true } }
    },
  )
  return {
    directory,
    async perform(key: string, as: typeof how) {
      how = as
      const performed = made.perform({ scope: 'acme', key, operation, input: { key } })
      return as === 'works' ? performed : performed.catch(() => undefined)
    },
    keys: async () => (await store.calls.list({ limit: 10 })).calls.map(({ key }) => key),
  }
}

function lines(...names: readonly string[]): string {
  return names.map((name) => `${name}: nothing to do\n`).join('')
}

function hapax(args: readonly string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    cwd,
    encoding: 'utf8',
    timeout: 20_000,
  })
  return { code: status, stdout, stderr }
}

function started(args: readonly string[], cwd: string) {
  const child: ChildProcess = spawn(process.execPath, [main, ...args], { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stdout?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece
  })
  const ended = once(child, 'close')
  return {
    child,
    stdout: () => said,
    says: (what: RegExp) =>
      until(
        async () => said,
        (all) => what.test(all),
        String(what),
      ),
    code: async () => (await bounded(ended, 'the process to end'))[0] as number | null,
  }
}
