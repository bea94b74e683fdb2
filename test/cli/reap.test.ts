import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { pinSqliteClock } from '../../src/stores/sqlite/testing.js'

/** Reaping takes answers away: it says first how many. */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

test('reap says of an admin URL that it takes a database or a module', () => {
  const { status, stderr } = spawnSync(process.execPath, [main, 'reap', 'http://localhost:3000/admin'], {
    encoding: 'utf8',
  })
  expect(status).toBe(2)
  expect(stderr).toBe('hapax: This takes a database, or a module that exports the engine; an admin URL will not do.\n')
})

test('reap shows how much it would take, and takes it only when it is told to', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-reap-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const made = engine({ store: sqliteStore({ path }), log: () => {} })
  await made.open()
  await pinSqliteClock(path, Date.now() - 10 * 86_400_000)
  const policy = made.policy({ name: 'payments.create', retention: '1d' })
  for (const key of ['a', 'b']) await made.run({ scope: 'acme', key, policy }, async () => 'paid')
  await made.run({ scope: 'acme', key: 'c', policy }, async (work) => work.doubt('silent')).catch(() => {})
  await pinSqliteClock(path, Date.now())
  await made.close()
  const reap = (...flags: readonly string[]) => {
    const { status, stdout } = spawnSync(process.execPath, [main, 'reap', path, ...flags], { encoding: 'utf8' })
    return { status, stdout }
  }

  expect(reap('--dry-run')).toEqual({ status: 0, stdout: '2 to bury, 0 to delete\n' })
  const shown = '{"changed":false,"reapable":{"buried":2,"deleted":0}}\n'
  expect(reap('--dry-run', '--json')).toEqual({ status: 0, stdout: shown })
  expect(reap()).toEqual({ status: 4, stdout: '2 to bury, 0 to delete\n' })
  expect(reap('--json')).toEqual({ status: 4, stdout: shown })
  expect(reap('--yes')).toEqual({ status: 0, stdout: '2 to bury, 0 to delete\n2 buried, 0 deleted\n' })
  expect(reap('--yes', '--json')).toEqual({ status: 0, stdout: '{"changed":true,"buried":0,"deleted":0}\n' })
})
