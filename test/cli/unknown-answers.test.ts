import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

test('an answer that can never be sent is wrong usage, and the doubt stands', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-answers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const hapax = engine({ store: sqliteStore({ path }), log: () => {} })
  const policy = hapax.policy({ name: 'payments.create' })
  await hapax.run({ scope: 'acme', key: 'k', policy }, async (work) => work.doubt('silent')).catch(() => {})
  await hapax.close()
  const settle = (answer: object) => {
    const said = ['--completed', '-', '--evidence', 'seen', '--why', 'asked', '--yes']
    const args = [main, 'unknown', 'settle', path, 'acme', 'k', ...said]
    const input = JSON.stringify(answer)
    const { status, stderr } = spawnSync(process.execPath, args, { input, encoding: 'utf8', timeout: 60_000 })
    return { code: status, stderr }
  }
  for (const [answer, why] of [
    [{ status: 201, headers: { location: '/a\r\nb: c' } }, /location/],
    [{ status: 201, headers: null }, /headers/],
    [{ status: 204, body: 'paid' }, /204/],
  ] as const)
    expect(settle(answer)).toEqual({ code: 2, stderr: expect.stringMatching(why) })
  expect(settle({ status: 201, body: { id: 1 } })).toMatchObject({ code: 0 })
})
