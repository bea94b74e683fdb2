import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type EffectCall, effects, engine } from 'hapax'
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

test('hapax work --metrics tells Prometheus of every pass, on the loopback alone, and ends cleanly with a scraper connected', async () => {
  const { directory } = await application()
  const working = started(['work', './hapax.mjs', '--only', 'sweeper', '--metrics', '0'], directory)
  const said = await working.says(/hapax serves metrics at (http:\/\/127\.0\.0\.1:\d+\/metrics)\n/)
  const url = /http:\S+/.exec(said)?.[0] ?? ''
  const scraped = () => fetch(url).then((response) => response.text())
  const page = await until(
    scraped,
    (text) => /last_pass_timestamp_seconds\{worker="sweeper"\} [1-9]/.test(text),
    'a pass',
  )
  expect(page).toContain('api_idempotency_store_up 1\n')
  expect((await fetch(new URL('/', url))).status).toBe(404)
  expect((await fetch(url, { method: 'POST' })).status).toBe(405)
  expect(hapax(['work', './hapax.mjs', '--metrics', new URL(url).port], directory)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('hapax: The page of --metrics cannot be served. (listen EADDRINUSE'),
  })
  working.child.kill('SIGTERM')
  expect(await working.code()).toBe(0)
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
  [['work', 'a.db', '--only', 'effects,sweeper', '--once']],
  [['work', './hapax.mjs', '--only', 'effects', '--once']],
  [['work', './hapax.mjs', '--only', 'sweeper,', '--once']],
  [['work', './hapax.mjs', '--schema', 'other']],
  [['work', 'a.db', '--schema', 'other']],
  [['work', './hapax.mjs', '--metrics', 'everywhere']],
  [['work', './hapax.mjs', '--metrics', '70000']],
  [['work', './hapax.mjs', '--metrics', '9464', '--once']],
  [['work', './missing.mjs']],
  [['work', './empty.mjs']],
  [['unknown', 'reconcile', 'a.db', '--why', 'x']],
  [['reconcile', './hapax.mjs', '--testify']],
  [['reconcile', './hapax.mjs', '--ledger', 'missing.csv']],
  [['reconcile', './hapax.mjs', '--ledger', '.']],
  [['reconcile', './hapax.mjs', '--ledger', 'empty.mjs', '--since', 'yesterday']],
  [['reconcile', './hapax.mjs', '--ledger', 'empty.mjs', '--since', '2026-02-02', '--until', '2026-02-01']],
  [['reconcile', './hapax.mjs', '--ledger', 'empty.mjs', '--settle', 'bogus']],
  [['reconcile', './hapax.mjs', '--ledger', 'empty.mjs', '--landed', '']],
])('wrong usage says so in one line: exit 2 for %j', async (args) => {
  const { directory } = await application()
  writeFileSync(join(directory, 'empty.mjs'), 'export const nothing = 1\n')
  const { code, stdout, stderr } = hapax(args, directory)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^hapax: [^\n]+\n$/)
  expect(stderr).not.toContain('store_unknown')
})

test('what cannot run is named with its reason, and what can is not run without it', async () => {
  const { directory } = await application()
  expect(hapax(['work', 'a.db', '--only', 'sweeper,effects', '--once'], directory).stderr).toBe(
    'hapax: The worker "effects" cannot run here: it needs the code of the application. Give its module instead of a database.\n',
  )
  expect(hapax(['work', './hapax.mjs', '--only', 'effectReconciler', '--once'], directory).stderr).toBe(
    'hapax: The worker "effectReconciler" cannot run here: the engine of ./hapax.mjs was given no effects.\n',
  )
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

test('a date without dashes is refused, not taken for seconds: exit 2, as a time of the command or of a line', async () => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  const [paid] = await keys()
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms']
  writeFileSync(join(directory, 'day.csv'), `key\n${paid}\n`)
  expect(hapax([...args, '--since', '20261116'], directory)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'hapax: --since: "20261116" could be a date or seconds; write 2026-11-16.\n',
  })
  writeFileSync(join(directory, 'day.csv'), `key,at\n${paid},20261116\n`)
  expect(hapax(args, directory)).toMatchObject({ code: 2, stderr: expect.stringContaining('write 2026-11-16.') })
})

test.each([
  ['CSV', (key: string) => `key\n${key}\n`],
  ['JSON lines', (key: string) => `${JSON.stringify({ key })}\n`],
])('a ledger of %s may begin with a byte order mark', async (_name, text) => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  writeFileSync(join(directory, 'day.csv'), `\uFEFF${text(`${(await keys())[0]}`)}`)
  const said = hapax(['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms'], directory)
  expect(said).toMatchObject({ code: 0, stderr: '' })
})

test('a ledger that says only that a call landed, whose handler needs its result, says what is missing', async () => {
  const { directory, perform, keys, states } = await application()
  await perform('doubt-1', 'doubt about its result')
  const [doubt] = await keys()
  writeFileSync(join(directory, 'day.csv'), `key,id\n${doubt},ch_3\n`)
  const told = hapax(['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms', '--testify'], directory)
  expect(told.stdout).toContain('we did not know (1 of 1 testified: 1 left to operator):')
  expect(told.stdout).toContain('1 landed, and cannot go on by that alone: what the call returned is missing')
  expect(told.code).toBe(1)
  expect(await states()).toEqual(['begun'])
})

test.each([
  ['CSV', (key: string) => `key,id,status\n${key},ch_1,failed\n`],
  ['JSON lines', (key: string) => `${JSON.stringify({ key, id: 'ch_1', Status: 'failed' })}\n`],
])('a ledger of %s with statuses settles nothing until --landed says which of them mean done', async (_name, text) => {
  const { directory, perform, keys, states } = await application()
  await perform('doubt-1', 'doubt')
  const [doubt] = await keys()
  writeFileSync(join(directory, 'day.csv'), text(`${doubt}`))
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms', '--testify']
  const refused = hapax(args, directory)
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--landed settled,captured') })
  expect(await states()).toEqual(['begun'])
  const landed = hapax([...args, '--landed', 'failed'], directory)
  expect(landed.stdout).toMatch(/1 the provider has, and we did not know \(1 of 1 testified: /)
  expect(await states()).toEqual(['landed'])
})

test.each([
  ['no line', '', [], 'day.csv has no keys: nothing was compared.'],
  ['a head alone', 'key,id\n', [], 'day.csv has no keys: nothing was compared.'],
  [
    'no line that counts',
    'key,status\nk,settled\n',
    ['--landed', 'setled,captured'],
    'day.csv has no line with the status setled or captured: nothing was compared.',
  ],
])('a ledger with %s agrees with nobody: exit 3', async (_name, text, flags, message) => {
  const { directory, perform } = await application()
  await perform('paid-1', 'works')
  writeFileSync(join(directory, 'day.csv'), text)
  const said = hapax(['reconcile', './hapax.mjs', '--ledger', 'day.csv', ...flags], directory)
  expect(said).toEqual({ code: 3, stdout: '', stderr: `hapax: ${message}\n` })
})

test('an operation that nothing of ours belongs to is a misspelling: exit 2; one that is known is compared', async () => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  writeFileSync(join(directory, 'day.csv'), `key\n${(await keys())[0]}\n`)
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms', '--operations']
  expect(hapax([...args, 'payments.creat'], directory)).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'hapax: --operations: we have no call and no effect of "payments.creat" to compare; there are payments.create.\n',
  })
  expect(hapax([...args, 'payments.create'], directory).code).toBe(0)
})

test('a window in which neither side has anything is not agreement, and says so: exit 3', async () => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  const [paid] = await keys()
  writeFileSync(join(directory, 'day.csv'), `key,at\n${paid},2026-01-01\nwhose,2026-01-01\n`)
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms']
  expect(hapax([...args, '--since', '2999-01-01'], directory)).toEqual({
    code: 3,
    stdout: '',
    stderr:
      'hapax: Neither day.csv nor we have anything in the time of --since, --until and --settle: nothing was compared.\n',
  })
  expect(hapax([...args, '--json', '--until', '1999-01-01'], directory)).toMatchObject({ code: 3, stdout: '' })
  const ofTheDay = hapax([...args, '--since', '2026-01-01', '--until', '2026-01-02'], directory)
  expect(ofTheDay).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('1 the provider has, and we know nothing'),
  })
})

test('in a window an operation may have had a quiet day, which is told, and a doubt in it is found', async () => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  writeFileSync(join(directory, 'day.csv'), `key\n${(await keys())[0]}\n`)
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv', '--settle', '0ms', '--since', '2020-01-01']
  expect(hapax([...args, '--operations', 'rides.create,payments.create'], directory)).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^hapax: --operations: in this time .* "rides\.create" .* payments\.create\.\n$/),
  })
})

test('a doubt that the provider does not have is told: exit 0 while it is young, 1 once it had the time to be there', async () => {
  const { directory, perform, keys } = await application()
  await perform('paid-1', 'works')
  await perform('doubt-1', 'doubt')
  const [paid, doubt] = await keys()
  writeFileSync(join(directory, 'day.csv'), `key\n${paid}\n`)
  const args = ['reconcile', './hapax.mjs', '--ledger', 'day.csv']
  const young = hapax(args, directory)
  expect(young.code).toBe(0)
  expect(young.stdout).toMatch(
    new RegExp(`1 we do not know yet, [^\\n]+:\\n {2}${doubt} {2}call[^\\n]+\\nBoth sides agree`),
  )
  const old = hapax([...args, '--settle', '0ms'], directory)
  expect(old.code).toBe(1)
  expect(old.stdout).toMatch(new RegExp(`1 we do not know, and the provider does not have:\\n {2}${doubt}`))
})

test('hapax work carries out effects, finds out about one in doubt, and SIGTERM ends it: exit 0', async () => {
  const { directory, write, effectStates } = await applicationWithEffects()
  await write('sent')
  await write('doubted')
  const working = started(['work', './hapax.mjs'], directory)
  await working.says(
    /^hapax works on \.\/hapax\.mjs: sweeper, reconciler, effectReconciler, resumer, effects, reaper\n/,
  )
  await working.says(/called sent\n/)
  await working.says(/effectReconciler: 1 landed\n/)
  await until(effectStates, (states) => states.every((state) => state === 'done'), 'both to be done')
  working.child.kill('SIGTERM')
  expect(await working.code()).toBe(0)
  expect(working.stdout()).toMatch(/hapax stops: what runs may finish\n$/)
  expect(working.stdout().match(/called doubted/g)).toHaveLength(1)
})

test('hapax work lets the call of an effect finish before it ends, and keeps its result', async () => {
  const { directory, write, effectStates } = await applicationWithEffects()
  await write('slow')
  const working = started(['work', './hapax.mjs', '--only', 'effects'], directory)
  await working.says(/^hapax works on \.\/hapax\.mjs: effects\n/)
  await working.says(/called slow\n/)
  working.child.kill('SIGTERM')
  expect(await working.code()).toBe(0)
  expect(await effectStates()).toEqual(['done'])
})

test('hapax work --once carries out what is due, and a later one finds out about the doubt that it left', async () => {
  const { directory, write, effectStates } = await applicationWithEffects()
  await write('sent')
  await write('doubted')
  const once = hapax(['work', './hapax.mjs', '--once'], directory)
  expect(once.code).toBe(0)
  expect(once.stdout).toMatch(/effects: 2 claimed, 1 done, 1 unknown\n/)
  expect(await effectStates()).toEqual(['done', 'unknown'])
  await until(
    async () => hapax(['work', './hapax.mjs', '--once', '--only', 'effectReconciler,effects'], directory).stdout,
    (said) => /effectReconciler: 1 landed\neffects: 1 claimed, 1 done\n/.test(said),
    'the doubt to be looked at',
  )
  expect(await effectStates()).toEqual(['done', 'done'])
})

/** One whose module has effects. The provider has done what is in doubt, and says so when it is asked. */
async function applicationWithEffects() {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-work-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(
    join(directory, 'hapax.mjs'),
    `import { effects, engine } from '${root}dist/index.js'
import { sqliteStore } from '${root}dist/stores/sqlite/index.js'
const receipt = {
  async call({ payload }) {
    console.log('called ' + payload)
    if (payload === 'doubted') throw new Error('socket hang up')
    if (payload === 'slow') await new Promise((resolve) => setTimeout(resolve, 700))
    return { id: payload }
  },
  lookup: ({ payload }) => ({ landed: true, result: { id: payload } }),
}
export const hapax = engine({ store: sqliteStore({ path: 'a.db' }), effects: effects({ 'receipt.send': receipt }) })
`,
  )
  const store = sqliteStore({ path: join(directory, 'a.db') })
  // Who writes an effect needs its name alone: the module carries it out.
  const outbox = effects({ 'receipt.send': { call: ({ payload }: EffectCall<string>) => payload } })
  const made = engine({ store, effects: outbox })
  await made.open()
  onTestFinished(() => made.close())
  const policy = made.policy({ name: 'payments.create', retention: '1d' })
  return {
    directory,
    write: (payload: string) =>
      made.run({ scope: 'acme', key: payload, input: payload, policy }, (work) =>
        work.commit(({ effect }) => {
          effect('receipt.send', payload)
          return { paid: true }
        }),
      ),
    effectStates: async () => (await store.effects.list({ limit: 10 })).effects.map(({ state }) => state),
  }
}

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
  let how: 'fails' | 'works' | 'doubt' | 'doubt about its result' = 'works'
  const operation = made.operation(
    'payments.create',
    { version: 1, retention: '1d' },
    async (work, { key }: { key: string }) => {
      if (how === 'fails') throw new Error('the disk was full')
      await work.call('charged', {
        input: key,
        run() {
          if (how.startsWith('doubt')) throw new Error('socket hang up')
          return { id: 'ch' }
        },
        result: how === 'doubt about its result' ? 'required' : 'optional',
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
    states: async () => (await store.calls.list({ limit: 10 })).calls.map(({ state }) => state),
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
