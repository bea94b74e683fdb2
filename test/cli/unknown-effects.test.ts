import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type EffectCall, effects, engine, type Store, workOnce } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'

/** Effects of which nobody knows whether they took place, as an operator meets them. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const main = join(root, 'dist/cli/main.js')

/** Neither provider honours keys, so that an error is doubt. Of a payout something follows; a mail takes its time. */
const definitions = `{
  'refund.make': { call: () => 'made', timeout: '1ms' },
  'payout.make': { call: () => 'made', apply: () => {}, timeout: '1ms' },
  'mail.send': { call: () => 'sent', timeout: '1h' },
}`

/** An application with three effects in doubt: 1 a refund, 2 a payout, 3 a mail. */
async function application<Tx>(store: Store<Tx>, storeInModule: string) {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-doubts-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const module = `import { effects, engine } from '${root}dist/index.js'\n${storeInModule}
export const hapax = engine({ store, effects: effects(${definitions}) })\n`
  writeFileSync(join(directory, 'hapax.mjs'), module)
  const silent = {
    call: (_: EffectCall<number>): number => {
      throw new Error('no answer came')
    },
  }
  const kinds = { 'refund.make': silent, 'payout.make': silent, 'mail.send': silent }
  const made = engine<Tx>({ store, effects: effects(kinds), log: () => {} })
  await made.open()
  await made.run({ scope: 'acme', key: 'k', input: 1, policy: made.policy({ name: 'payments.create' }) }, (work) =>
    work.commit(({ effect }) => {
      effect('refund.make', 1)
      effect('payout.make', 2)
      effect('mail.send', 3)
      return true
    }),
  )
  await workOnce({ hapax: made })
  await made.close()
  return (...args: readonly string[]) => {
    const options = { cwd: directory, encoding: 'utf8', timeout: 30_000 } as const
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], options)
    return { code: status, stdout, stderr }
  }
}

const grounds = ['--evidence', 'looked at the dashboard', '--why', 'the customer asks', '--as', 'ann', '--yes']

function walks(hapax: Awaited<ReturnType<typeof application>>, database: readonly string[]): void {
  const module = './hapax.mjs'
  const settle = (...args: readonly string[]) => hapax('unknown', 'settle', module, ...args, ...grounds)

  const listed = hapax('unknown', 'list', ...database)
  expect(listed.stdout).toMatch(/1 +\d+s +acme +refund\.make .* unknown\n2 .* payout\.make .*\n3 .* mail\.send/)
  expect(JSON.parse(hapax('unknown', 'list', module, '--json').stdout).effects.items).toHaveLength(3)

  const refund = settle('--effect', '1', '--not-landed')
  expect(refund.stdout).toMatch(/Nobody knows since .* whether it took place/)
  expect(refund).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Settled as not_landed: it is ready now\. Entry 1 of the audit log\.\n$/),
  })
  expect(settle('--effect', '1', '--not-landed')).toMatchObject({
    code: 1,
    stderr: 'hapax: The effect is ready. (not_in_doubt)\n',
  })
  expect(settle('--effect', '2', '--landed')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('(result_missing)'),
  })
  expect(settle('--effect', '2', '--landed', '--result', '{"id":"po_1"}').code).toBe(0)
  expect(settle('--effect', '3', '--not-landed')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('(too_early)'),
  })
  expect(settle('--effect', '9', '--landed')).toMatchObject({ code: 1, stderr: expect.stringContaining('(absent)') })
  expect(settle('--effect', '3', '--completed', 'hapax.mjs')).toMatchObject({ code: 2 })
  expect(settle('acme', 'k', '--effect', '3', '--landed')).toMatchObject({ code: 2 })

  const without = hapax('unknown', 'settle', ...database, '--effect', '3', '--landed', ...grounds)
  expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('takes the code of the application') })

  expect(hapax('audit', 'list', ...database).stdout).toMatch(
    /2 .* operator:ann +settle +acme +effect:2 +unknown\s+→\s+ready:[\s\S]*1 .* settle +acme +effect:1 +unknown\s+→\s+ready:/,
  )
  expect(hapax('audit', 'verify', ...database)).toMatchObject({ code: 0, stdout: expect.stringContaining('2 entries') })
  expect(hapax('keys', 'show', ...database, 'acme', 'k').stdout).toMatch(
    /operator:ann did this at .*: settle of effect 2/,
  )
  expect(hapax('work', module, '--once').code).toBe(0)

  const look = (...args: readonly string[]) =>
    hapax('unknown', 'reconcile', ...args, '--why', 'the provider is back', '--as', 'ann', '--yes')
  expect(look(module, '--effect', '3')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^effect +3 [\s\S]*\n\n1 left to operator\n$/),
  })
  expect(JSON.parse(look(module, '--effect', '3', '--json').stdout)).toEqual({
    changed: true,
    came: { left_to_operator: 1 },
  })
  expect(look(module, '--effect', '2')).toMatchObject({ code: 1, stderr: expect.stringContaining('(not_in_doubt)') })
  expect(look(module, 'acme', 'k', '--effect', '3')).toMatchObject({ code: 2 })
  expect(look(...database, '--effect', '3')).toMatchObject({ code: 2 })
  expect(hapax('audit', 'list', ...database).stdout).toMatch(/operator:ann +reconcile +acme +effect:3/)
  expect(hapax('unknown', 'list', ...database, '--tenant', 'nobody').stdout).toBe('Nothing is unknown.\n')
  expect(hapax('unknown', 'list', module, '--tenant', 'acme').stdout).toMatch(/^effect .*\n3 .*mail\.send.*\n$/)
}

test('doubts about effects are settled by evidence and go on, in a SQLite file', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-doubts-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const module = `import { sqliteStore } from '${root}dist/stores/sqlite/index.js'
const store = sqliteStore({ path: '${path}' })`
  walks(await application(sqliteStore({ path }), module), [path])
})

onPostgres('on PostgreSQL', (url) => {
  test('doubts about effects are settled by evidence and go on', { timeout: 120_000 }, async () => {
    const { schema, node } = await schemaOfTest(url)
    const module = `import pg from '${root}node_modules/pg/lib/index.js'
import { postgresStore } from '${root}dist/stores/postgres/index.js'
const store = postgresStore({ pool: new pg.Pool({ connectionString: '${url}' }), schema: '${schema}' })`
    walks(await application(node().store as unknown as Store<unknown>, module), [url, '--schema', schema])
  })
})
