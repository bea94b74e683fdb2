import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { fitted } from '../../src/cli/fitted.js'
import { table } from '../../src/cli/table.js'

/** What a person, a shell and a pipe get of the command line. */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'hapax-terminal-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

function hapax(...args: readonly string[]) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: 60_000 })
}

test('bash completes commands, their commands and their flags, once it has read what completion prints', () => {
  const bin = folder()
  writeFileSync(join(bin, 'hapax'), `#!/bin/sh\nexec ${process.execPath} ${main} "$@"\n`)
  chmodSync(join(bin, 'hapax'), 0o755)
  const completed = (...words: readonly string[]) => {
    const script = `source <(hapax completion bash)
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_hapax; echo "\${COMPREPLY[*]}"`
    const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    return spawnSync('bash', ['-c', script], { encoding: 'utf8', env, timeout: 60_000 }).stdout.trim()
  }
  expect(completed('hapax', 'un')).toBe('unknown')
  expect(completed('hapax', 'unknown', '')).toMatch(/^list settle reconcile/)
  expect(completed('hapax', 'unknown', 'settle', 'http://localhost/admin', '--ef')).toBe('--effect')
  expect(completed('hapax', 'audit', 'verify', 'a.db', '--an')).toBe('--anchor')
}, 60_000)

test('into a pipe goes no escape and no question, and nothing is changed without --yes', async () => {
  const path = join(folder(), 'a.db')
  const made = engine({ store: sqliteStore({ path }), log: () => {} })
  const policy = made.policy({ name: 'payments.create' })
  await made.run({ scope: 'acme', key: 'k', policy }, async () => 'paid')
  await made.run({ scope: 'acme', key: 'd', policy }, async (work) => work.doubt('silent')).catch(() => {})
  await made.close()
  const commands = [
    ['keys', 'find', path],
    ['keys', 'show', path, 'acme', 'd'],
    ['unknown', 'list', path],
    ['stats', path],
    ['audit', 'verify', path],
  ]
  const asking = [
    ['purge', path, 'acme', 'k', '--why', 'a test'],
    ['unknown', 'settle', path, 'acme', 'd', '--not-landed', '--evidence', 'a test', '--why', 'a test'],
    ['reap', path],
  ]
  for (const command of [...commands, ...asking]) {
    const { stdout, stderr, status } = hapax(...command)
    expect(status, command.join(' ')).toBe(asking.includes(command) ? 4 : 0)
    for (const mark of ['\x1b', '\r', '[y/N]']) expect(`${stdout}${stderr}`, command.join(' ')).not.toContain(mark)
  }
  for (const command of asking) {
    const { stdout, stderr, status } = hapax(...command, '--json')
    expect({ stderr, status }).toEqual({ stderr: 'hapax: nothing was changed: add --yes to do it\n', status: 4 })
    const about =
      command[0] === 'reap'
        ? { reapable: { buried: 0, deleted: 0 } }
        : { record: { scope: 'acme' }, sentences: expect.anything() }
    expect(JSON.parse(stdout), command.join(' ')).toMatchObject({ changed: false, ...about })
  }
  expect(JSON.parse(hapax('keys', 'find', path, '--key', 'k', '--json').stdout).items).toMatchObject([
    { state: 'completed' },
  ])
  expect(hapax('stats', path).stdout).toMatch(/keys +2\s[\s\S]*unknown +1 +the oldest for \d+s/)
  expect(JSON.parse(hapax('stats', path, '--json').stdout).stats).toMatchObject({ keys: 2, unknown: { count: 1 } })
}, 60_000)

test('on a narrow terminal no line is longer than it is wide, and no word is broken', () => {
  const help = hapax('unknown', '--help').stdout
  const narrow = fitted(help, 60)
  for (const word of help.split(/\s+/)) expect(narrow).toContain(word)
  expect(fitted(help, undefined)).toBe(help)
  const rows = [['1', 'operator:somebody-with-a-name', 'settle', 'acme', 'unknown → ready: the customer asks']]
  const lines = table(['#', 'who', 'action', 'scope', 'why'], rows, 60)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
  expect(lines.join('\n')).toContain('unknown → ready: the customer asks')
})
