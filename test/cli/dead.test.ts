import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type EffectCall, type EffectStore, effects, engine, type Store, workOnce } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'

/** Dead letters, as an operator meets them. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')

const definitions = `{
  'receipt.send': { call: ({ payload }) => payload, honoursKeyFor: '24h' },
  'refund.make': { call: ({ payload }) => payload },
}`

function hapax(args: readonly string[], cwd: string) {
  const options = { cwd, encoding: 'utf8', timeout: 20_000 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
  return { code: status, stdout, stderr }
}

/** An application whose four effects were refused by their providers: 1 and 3 receipts, 2 and 4 refunds. */
async function application<Tx>(store: Store<Tx> & { readonly effects: EffectStore<Tx> }, storeInModule: string) {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-effects-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const module = `import { effects, engine } from '${root}dist/index.js'\n${storeInModule}
export const hapax = engine({ store, effects: effects(${definitions}) })\n`
  writeFileSync(join(directory, 'hapax.mjs'), module)
  const refusing = {
    call: (_: EffectCall<number>): number => {
      throw Object.assign(new Error('secret of the provider'), { code: 'account_closed' })
    },
    classify: () => 'answered' as const,
  }
  const made = engine<Tx>({ store, effects: effects({ 'receipt.send': refusing, 'refund.make': refusing }) })
  await made.open()
  const policy = made.policy({ name: 'payments.create' })
  for (const key of ['k-1', 'k-2'])
    await made.run({ scope: 'acme', key, input: key, policy }, (work) =>
      work.commit(({ effect }) => {
        effect('receipt.send', 1)
        effect('refund.make', 2)
        return true
      }),
    )
  await workOnce({ hapax: made })
  const states = async () => (await store.effects.list({ limit: 10 })).effects.map(({ state }) => state)
  return {
    run: (...args: readonly string[]) => hapax(['dead', ...args], directory),
    states,
    directory,
    close: () => made.close(),
  }
}

async function onSqlite() {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-effects-db-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  const text = `import { sqliteStore } from '${root}dist/stores/sqlite/index.js'\nconst store = sqliteStore({ path: '${path}' })`
  return { path, ...(await application(store, text)) }
}

/** What every database must show. */
async function shows({ run, states, directory }: Awaited<ReturnType<typeof application>>) {
  const listed = run('list', './hapax.mjs')
  expect(listed).toMatchObject({ code: 0, stderr: '' })
  expect(listed.stdout).toMatch(/^id +kind +scope +age +tries +error +redrive\n1 +receipt.send +acme .* account_closed/)
  expect(listed.stdout).not.toContain('secret')
  const only = JSON.parse(run('list', './hapax.mjs', '--kind', 'refund.make', '--json').stdout)
  expect(only.items).toMatchObject([{ id: 2, redrive: { kind: 'call' } }, { id: 4 }])
  const first = JSON.parse(run('list', './hapax.mjs', '--kind', 'refund.make', '--limit', '1', '--json').stdout)
  expect(first).toMatchObject({ items: [{ id: 2 }], next: expect.any(String) })

  const shown = run('redrive', './hapax.mjs', '--kind', 'receipt.send', '--why', 'try')
  expect(shown).toMatchObject({
    code: 4,
    stdout: expect.stringMatching(/2 can be redriven\.\n$/),
  })
  expect(await states()).toEqual(['dead', 'dead', 'dead', 'dead'])
  const done = run('redrive', './hapax.mjs', '1', '99', '--yes', '--why', 'try')
  expect(done).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/Not dead, or not there: 99\.\n1 redriven\.\n$/),
  })
  expect(await states()).toEqual(['ready', 'dead', 'dead', 'dead'])

  expect(run('discard', './hapax.mjs', '2', '--why', 'by hand').stdout).toMatch(/1 can be discarded\./)
  expect((await states())[1]).toBe('dead')
  expect(run('discard', './hapax.mjs', '2', '--why', 'by hand', '--yes')).toMatchObject({ code: 0 })
  expect(await states()).toEqual(['ready', 'discarded', 'dead', 'dead'])
  const { items } = JSON.parse(hapax(['audit', 'list', './hapax.mjs', '--json'], directory).stdout)
  expect(items).toMatchObject([
    { sequence: 2, action: 'discard', subject: 'effect:2', why: 'by hand', after: { state: 'discarded' } },
    { sequence: 1, action: 'redrive', subject: 'effect:1', before: { state: 'dead' }, after: { state: 'ready' } },
  ])
}

describe('hapax dead', () => {
  test('lists, redrives and discards dead effects, and shows first what it would do', {
    timeout: 120_000,
  }, async () => {
    const app = await onSqlite()
    await shows(app)
    await app.close()
  })

  test('needs the code of the application to redrive, and only a database to look and to discard', async () => {
    const { run, path, states, close } = await onSqlite()
    expect(run('redrive', path, '1', '--yes', '--why', 'try')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give its module'),
    })
    expect(run('list', path).stdout).toMatch(/refused: its kind is not\s+known here/)
    expect(JSON.parse(run('discard', path, '1', '--why', 'by hand', '--yes', '--json').stdout)).toMatchObject({
      changed: true,
      effects: [{ id: 1, changed: true }],
      not_dead: [],
    })
    expect(await states()).toEqual(['discarded', 'dead', 'dead', 'dead'])
    await close()
  })

  test.each([
    ['nothing to redrive', ['redrive', 'a.db', '--why', 'try'], 'Say which: give ids, or --kind.'],
    [
      'what may run twice without its name',
      ['redrive', 'a.db', '--kind', 'a', '--may-run-twice', '--why', 'try'],
      'goes with ids',
    ],
    ['no id', ['redrive', 'a.db', 'one', '--why', 'try'], '"one" is no id of an effect'],
    ['no reason', ['discard', 'a.db', '1'], "required option '--why <text>' not specified"],
    ['an empty reason', ['discard', 'a.db', '1', '--why', ' ', '--yes'], '--why is empty'],
    ['an empty reason, to look at', ['discard', 'a.db', '1', '--why', ''], '--why is empty'],
  ])('refuses %s as wrong usage', (_, args, message) => {
    expect(hapax(['dead', ...args], tmpdir())).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    })
  })
})

onPostgres('hapax dead on PostgreSQL', (url) => {
  test('lists, redrives and discards dead effects, and shows first what it would do', {
    timeout: 120_000,
  }, async () => {
    const fresh = await schemaOfTest(url)
    const text = `import pg from '${root}node_modules/pg/lib/index.js'
import { postgresStore } from '${root}dist/stores/postgres/index.js'
const store = postgresStore({ pool: new pg.Pool({ connectionString: '${url}' }), schema: '${fresh.schema}' })`
    const app = await application(fresh.node().store, text)
    await shows(app)
    await app.close()
  })
})
