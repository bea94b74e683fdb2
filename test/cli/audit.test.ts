import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine, keyOf, type Store, scopeOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import Database from 'libsql'
import { expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { schemaOfTest } from '../support/postgres-schema.js'

/** The log of what people did, and whoever meddles with it. */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

function hapax(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: 60_000 })
  return { code: status, stdout, stderr }
}

/** Four answers that somebody has purged. */
async function purged(store: Store<never>): Promise<void> {
  const made = engine({ store, log: () => {} })
  const policy = made.policy({ name: 'payments.create' })
  for (const key of ['k-1', 'k-2', 'k-3', 'k-4']) {
    await made.run({ scope: 'acme', key, policy }, async () => 'paid')
    const name = { scope: scopeOf('acme'), key: keyOf(key) }
    const deed = { kind: 'purge', name, generation: 1 } as const
    expect((await made.operating.act(deed, { who: 'operator:ann', why: `wrong answer of ${key}` })).kind).toBe('done')
  }
  await made.close()
}

/** Each with what `verify` says of it. `audit` and `head` stand for the tables. */
const meddling = [
  ['a reason that was edited', `UPDATE audit SET why = 'no reason' WHERE sequence = 2`, 'entry 2 is not what it was'],
  [
    'a state that was edited',
    `UPDATE audit SET after = replace(after, 'expired', 'completed') WHERE sequence = 4`,
    'entry 4 is not what it was',
  ],
  ['an entry that was taken out', 'DELETE FROM audit WHERE sequence = 3', 'entry 3 is missing'],
  ['the last entry, taken out', 'DELETE FROM audit WHERE sequence = 4', 'entry 4 is where it ends'],
  ['the first entry, taken out', 'DELETE FROM audit WHERE sequence = 1', 'entry 1 is missing'],
  [
    'two entries that changed places',
    'UPDATE audit SET sequence = CASE sequence WHEN 2 THEN 103 WHEN 3 THEN 102 END WHERE sequence IN (2, 3); UPDATE audit SET sequence = sequence - 100 WHERE sequence > 100',
    'entry 2 is not what it was',
  ],
  ['a head that was put back', 'UPDATE head SET sequence = 2', 'entry 3 is where it ends'],
] as const

function shows(
  where: readonly string[],
  meddle: (sql: string) => unknown,
  [, sql, said]: (typeof meddling)[number],
): unknown {
  expect(hapax('audit', 'verify', ...where)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('whole: 4 entries'),
  })
  const done = meddle(sql)
  const check = () =>
    expect(hapax('audit', 'verify', ...where)).toMatchObject({ code: 1, stdout: expect.stringContaining(said) })
  return done instanceof Promise ? done.then(check) : check()
}

async function freshFile(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  await purged(sqliteStore({ path }) as unknown as Store<never>)
  return path
}

test.each(meddling)('hapax audit verify exits 1 for %s, in a SQLite file', { timeout: 60_000 }, async (...one) => {
  const path = await freshFile()
  shows(
    [path],
    (sql) => {
      const database = new Database(path)
      database.exec(
        sql.replaceAll(/\b(audit|head)\b/g, (name) => (name === 'audit' ? 'hapax_audit' : 'hapax_audit_head')),
      )
      database.close()
    },
    one as never,
  )
})

test('what was exported is an anchor: a log that was made anew as a whole is not the same', {
  timeout: 60_000,
}, async () => {
  const path = await freshFile()
  const to = join(path, '..', 'audit.jsonl')
  const exported = hapax('audit', 'export', path, '--to', to)
  const anchor = /the last is (\S+)/.exec(exported.stderr)?.[1] ?? ''
  expect(readFileSync(to, 'utf8').trim().split('\n')).toHaveLength(4)
  expect(hapax('audit', 'verify', path, '--anchor', anchor).code).toBe(0)
  const other = await freshFile()
  expect(hapax('audit', 'verify', other, '--anchor', anchor)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('not the one that was written down elsewhere'),
  })
})

test('an export writes over nothing and says in a line why it does not write', { timeout: 60_000 }, async () => {
  const path = await freshFile()
  const to = join(path, '..', 'audit.jsonl')
  writeFileSync(to, 'what somebody needs')
  const there = hapax('audit', 'export', path, '--to', to)
  expect(there).toEqual({
    code: 2,
    stdout: '',
    stderr: `hapax: --to ${to} cannot be written: it is there already; name another file.\n`,
  })
  expect(readFileSync(to, 'utf8')).toBe('what somebody needs')
  expect(hapax('audit', 'export', path, '--to', join(path, '..', 'missing', 'audit.jsonl'))).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^hapax: --to .* its folder is not there; make it first\.\n$/),
  })
})

test('a list has as much as is asked for, and goes on from there', { timeout: 60_000 }, async () => {
  const path = await freshFile()
  const list = (...flags: readonly string[]) => JSON.parse(hapax('audit', 'list', path, '--json', ...flags).stdout)
  const first = list('--limit', '3')
  expect(first.items).toMatchObject([{ sequence: 4 }, { sequence: 3 }, { sequence: 2 }])
  expect(list('--limit', '3', '--after', first.next)).toMatchObject({ items: [{ sequence: 1 }] })
  expect(hapax('audit', 'list', path, '--limit', 'many')).toMatchObject({ code: 2 })
})

test('an export into a pipe is whole', { timeout: 60_000 }, async () => {
  const { stdout, stderr } = hapax('audit', 'export', await freshFile())
  expect(stdout.trim().split('\n')).toHaveLength(4)
  expect(stderr).toContain('4 entries')
})

test('an end that was cut off together with its head is found by an anchor, and only by that', {
  timeout: 60_000,
}, async () => {
  const path = await freshFile()
  const whole = hapax('audit', 'verify', path)
  const anchor = /^(4:[0-9a-f]{64})$/m.exec(whole.stdout)?.[1] ?? ''
  const database = new Database(path)
  database.exec(`DELETE FROM hapax_audit WHERE sequence > 2;
    UPDATE hapax_audit_head SET (sequence, hash) = (SELECT sequence, hash FROM hapax_audit WHERE sequence = 2)`)
  database.close()
  expect(hapax('audit', 'verify', path)).toMatchObject({ code: 0 })
  expect(hapax('audit', 'verify', path, '--anchor', anchor)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('entry 3 is where it ends'),
  })
})

onPostgres('hapax audit on PostgreSQL', (url) => {
  test.each(meddling)('verify exits 1 for %s', { timeout: 60_000 }, async (...one) => {
    const { schema, owner, node } = await schemaOfTest(url)
    await purged(node().store as unknown as Store<never>)
    const meddle = (sql: string) =>
      owner.query(
        sql.replaceAll(/\b(audit|head)\b/g, (name) => (name === 'audit' ? `${schema}.audit` : `${schema}.audit_head`)),
      )
    await shows([url, '--schema', schema], meddle, one as never)
  })

  test('the role that serves may add to it, and change nothing of it', async () => {
    const { schema, owner } = await schemaOfTest(url)
    const role = `${schema}_serving`
    await owner.query(`CREATE ROLE ${role} LOGIN`)
    onTestFinished(async () => void (await owner.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
    const { postgresRights } = await import('hapax/postgres')
    for (const statement of postgresRights({ role, schema })) await owner.query(statement)
    const may = async (right: string) =>
      (await owner.query(`SELECT has_table_privilege('${role}', '${schema}.audit', '${right}') AS may`)).rows[0].may
    expect([await may('INSERT'), await may('UPDATE'), await may('DELETE')]).toEqual([true, false, false])
  })
})
