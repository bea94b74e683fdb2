import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engine } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { type Listed, listed } from '../../src/admin/paging.js'
import { filledPage, pageText } from '../../src/cli/pages.js'
import { adminBounds, limits } from '../../src/kernel/limits.js'

/** A key that is there is found, however many others have to be looked at before it. */

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

function hapax(...args: readonly string[]) {
  return spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', timeout: 60_000 })
}

test('keys find goes on by itself, past pages on which nothing fits', { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const made = engine({ store: sqliteStore({ path }), log: () => {} })
  const run = (name: string, key: string) =>
    made.run({ scope: 'acme', key, policy: made.policy({ name }) }, async () => 'done')
  await run('refunds.create', 'sought-1')
  await run('refunds.create', 'sought-2')
  const others = Array.from({ length: 2 * limits.looked + 1 }, (_, index) => `other-${index}`)
  while (others.length > 0) await Promise.all(others.splice(0, 500).map((key) => run('payments.create', key)))
  await made.close()

  const found = hapax('keys', 'find', path, '--operation', 'refunds.create')
  expect(found).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/sought-2[\s\S]*sought-1/) })
  expect(found.stdout).not.toContain('There may be more')
  const first = hapax('keys', 'find', path, '--operation', 'refunds.create', '--limit', '1')
  expect(first.stdout).toMatch(/sought-2[\s\S]*There may be more: --after \d+\n$/)
  const [, after = ''] = /--after (\d+)/.exec(first.stdout) ?? []
  const second = hapax('keys', 'find', path, '--operation', 'refunds.create', '--after', after, '--json')
  expect(JSON.parse(second.stdout)).toMatchObject({ items: [{ key: 'sought-1' }] })
  expect(hapax('keys', 'find', path, '--operation', 'orders.create')).toMatchObject({
    status: 1,
    stdout: 'No key was found.\n',
  })
})

test('keys show counts nothing where nothing is served, and says where to ask', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hapax-keys-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'a.db')
  const made = engine({ store: sqliteStore({ path }), log: () => {} })
  const asked = { scope: 'acme', key: 'came-back', policy: made.policy({ name: 'payments.create' }) }
  for (const _ of [1, 2]) await made.run(asked, async () => 'done')
  await made.close()

  const told = hapax('keys', 'show', path, 'acme', 'came-back')
  expect(told).toMatchObject({ status: 0, stdout: expect.stringContaining('not seen from here') })
  expect(told.stdout).not.toContain('none was for it')
  const story = JSON.parse(hapax('keys', 'show', path, 'acme', 'came-back', '--json').stdout)
  expect(story).toMatchObject({ record: { key: 'came-back' } })
  expect(story).not.toHaveProperty('counts')
})

test('a search ends at a bound, says so, and goes on from there', async () => {
  let asked = 0
  const endless = async ({ after = '0' }: { readonly limit?: number; readonly after?: string }) => {
    asked++
    return listed<string>([], String(Number(after) + 1))
  }
  const page: Listed<string> = await filledPage(endless, { after: '7' })
  expect(asked).toBe(adminBounds.pagesLookedAt)
  expect(page).toEqual({ items: [], next: String(7 + adminBounds.pagesLookedAt) })
  expect(pageText([], page.next, { none: 'No key was found.' })).toBe(
    `None was found on the first ${adminBounds.pagesLookedAt} pages.\n\nThere may be more: --after ${page.next}`,
  )
})
