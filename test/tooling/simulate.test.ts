import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test, vi } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'

afterEach(() => vi.unstubAllEnvs())

const script = fileURLToPath(new URL('../../scripts/simulate.mjs', import.meta.url))

/** A run of vitest in one of vitest, on a machine that has other work. */
const quiteLongMs = 60_000

/** What `npm run simulate` says to somebody, and how it ends. */
function simulate(...words: string[]): Promise<{ readonly code: number; readonly said: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [script, ...words], { timeout: quiteLongMs - 5_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), said: stdout + stderr })
    })
  })
}

test.each([
  [['--minutes', '0'], '--minutes is a number above 0, not 0.'],
  [['--schedules', '1.5'], '--schedules is a whole number from 1, not 1.5.'],
  [['--seed', '4294967296'], '--seed is a whole number from 1 to 4294967295, not 4294967296.'],
  [['--random', '--from', '4294967296'], '--from is a whole number from 1 to 4294967295, not 4294967296.'],
  [['--from', '4294967286', '--schedules', '11'], 'from 4294967286 on there are no 11 schedules, but 10.'],
  [['--schedules', '4294967296'], 'from 1 on there are no 4294967296 schedules, but 4294967295.'],
  [['--cases', '--sabotage'], '--cases and --sabotage are different things'],
  [['--sabotage', '--schedules', '5'], '--schedules says nothing to --sabotage.'],
  [['--random', '--record', '--from', '7'], '--record goes on after the last seed on record'],
  [['--bug', 'lease', '--record'], '--bug is part of a run, and not put on record.'],
  [['--often'], "Unknown option '--often'"],
])('npm run simulate -- %j says what is wrong before anything runs', async (words, why) => {
  const { code, said } = await simulate(...words)
  expect(said).toContain(why)
  expect(said).toContain('npm run simulate -- --help')
  expect(code).toBe(2)
})

test('what is not there by that name is told, with all that is', async () => {
  const noCase = await simulate('--case', 'no such thing')
  expect(noCase.said).toContain('No case has “no such thing” in its name. There are:')
  expect(noCase.said).toContain('  two requests, one crash, one ambiguous commit\n')
  const noBug = await simulate('--bug', 'no such thing')
  expect(noBug.said).toContain('  a write needs no fence\n')
  expect([noCase.code, noBug.code]).toEqual([1, 1])
})

test('a seed that keeps every promise is told in words', async () => {
  const { code, said } = await simulate('--seed', '1')
  expect(said).toMatch(/^ {4}1\. \S/m)
  expect(said).toContain('✓ seed 1 keeps every promise')
  expect(code).toBe(0)
})

test('random schedules say how many they were, of which seeds, and how quick', async () => {
  const { code, said } = await simulate('--random', '--schedules', '300', '--from', '11')
  expect(said).toContain('✓ 300 random schedules, seeds 11 to 310, 0 violations')
  expect(said).toMatch(/\d+ per second of a core/)
  expect(said).toMatch(/\d+ came by a replay/)
  expect(code).toBe(0)
})

test('a campaign ends with the last seed that there is', async () => {
  const { code, said } = await simulate('--random', '--from', '4294967286', '--minutes', '1')
  expect(said).toContain('✓ 10 random schedules, seeds 4294967286 to 4294967295, 0 violations')
  expect(code).toBe(0)
})

test('a planted bug is caught, or its name says that it was not', async () => {
  const { code, said } = await simulate('--bug', 'a replay says 200')
  expect(said).toContain('✓ a replay says 200, whatever the answer was: caught')
  expect(said).toContain('1 of 1 planted bugs are caught')
  expect(code).toBe(0)
})

onPostgres('a bug that is planted into SQL', () => {
  test('is caught by a case of the suite, on a real server', { timeout: quiteLongMs }, async () => {
    const { code, said } = await simulate('--bug', 'PostgreSQL store counts tombstones')
    expect(said).toContain('✓ the PostgreSQL store counts tombstones: caught')
    expect(said).toContain('  by a case of the suite: a tombstone does not count, and a key used anew does\n')
    expect(said).toContain('1 of 1 planted bugs are caught')
    expect(code).toBe(0)
  })
})

test('where no PostgreSQL can be started, no bug is planted into SQL, which is said with the reason and fails', async () => {
  vi.stubEnv('HAPAX_TEST_POSTGRES_URL', undefined)
  vi.stubEnv('HAPAX_TEST_POSTGRES', 'none')
  const { code, said } = await simulate('--bug', 'PostgreSQL store counts tombstones')
  expect(said).toContain(
    '✗ No PostgreSQL could be started, so nothing was planted into SQL: HAPAX_TEST_POSTGRES is "none"',
  )
  expect(said).toContain('0 of 1 planted bugs are caught')
  expect(code).toBe(1)
})

test('a server that nobody reaches catches no bug', { timeout: quiteLongMs }, async () => {
  vi.stubEnv('HAPAX_TEST_POSTGRES_URL', 'postgres://postgres@127.0.0.1:1/postgres')
  const { code, said } = await simulate('--bug', 'PostgreSQL store counts tombstones')
  expect(said).toContain('✗ the PostgreSQL store counts tombstones: its case fails where nothing is planted, too')
  expect(code).toBe(1)
})
