import { type LedgerEntry, type LedgerReport, startWorkers, type Window, workerNames, workOnce } from 'hapax'
import { expect, onTestFinished, test } from 'vitest'
import { workerBounds } from '../../src/kernel/limits.js'
import { type Bench, bench } from '../support/bench.js'

/** Ledgers that a worker compares by itself, on a clock that stands until it is moved. */

const day = 24 * 60 * 60_000

/** The others look every few seconds, which in a day is often. */
const alone = Object.fromEntries(workerNames.map((name) => [name, 'off'] as const))

function comparing({ hapax }: Bench, entries: (window: Window) => readonly LedgerEntry[]) {
  const reports: LedgerReport[] = []
  const providers = { card: { entries, onReport: (report: LedgerReport) => void reports.push(report) } }
  return { reports, options: { hapax, ...alone, ledger: { providers } } }
}

test('the ledgers of providers are read when it starts and at least daily, each window from where the last has ended', async () => {
  const bed = bench()
  const windows: Window[] = []
  const { options } = comparing(bed, (window) => {
    windows.push(window)
    return []
  })
  const workers = startWorkers(options)
  onTestFinished(() => void workers.stop())
  await bed.clock.advance(1)
  expect(windows).toHaveLength(1)
  for (let passed = 0; passed < 2; passed++) await bed.clock.advance(day)
  expect(windows.length).toBeGreaterThanOrEqual(3)
  for (const [index, { since, until }] of windows.entries()) {
    expect(since).toBe(index === 0 ? until - day : windows[index - 1]?.until)
    expect(until).toBeLessThanOrEqual(bed.clock.now() - workerBounds.ledgerSettleMs)
  }
})

test('what the provider has and we do not is an event, a line of the log and a report', async () => {
  const bed = bench()
  const told: unknown[] = []
  bed.hapax.on('ledger_compared', (event) => told.push(event))
  const { options, reports } = comparing(bed, ({ since }) => [{ key: 'nobody knows', at: since + 1 }])
  const done = await workOnce(options)
  expect(done.at(-1)).toEqual({ name: 'ledger', did: { differed: 1 } })
  expect(told).toMatchObject([{ provider: 'card', compared: 0, orphans: 1, missing: 0 }])
  expect(reports.map(({ orphans }) => orphans.count)).toEqual([1])
  const differs = bed.logged.filter(({ code }) => code === 'ledger_differs')
  expect(differs.map(({ message }) => message)).toEqual([expect.stringContaining('1 orphans')])
})

test('a ledger that cannot be read keeps no other from being compared, and is read further back the next time', async () => {
  const bed = bench()
  const windows: Window[] = []
  let isDown = true
  const broken = {
    entries(window: Window) {
      windows.push(window)
      if (isDown) throw new Error('the export is not there yet')
      return []
    },
  }
  const read: Window[] = []
  const sound = {
    entries(window: Window) {
      read.push(window)
      return []
    },
  }
  const workers = startWorkers({ hapax: bed.hapax, ...alone, ledger: { providers: { broken, sound } } })
  onTestFinished(() => void workers.stop())
  await bed.clock.advance(1)
  expect([windows.length, read.length]).toEqual([1, 1])
  expect(bed.events).toContain('worker_failed')
  isDown = false
  await bed.clock.advance(day)
  const [failed, next] = windows
  expect(next?.since).toBe((next?.until ?? 0) - day)
  expect(next?.since).toBeLessThanOrEqual(failed?.until ?? 0)
})

test.each([
  [{ providers: {} }, /providers is empty/],
  [{ providers: { card: {} } }, /needs entries/],
  [{ providers: { card: { entries: () => [] } }, evry: '1h' }, /evry is not an option/],
])('options that say nothing useful are refused: %j', (ledger, message) => {
  expect(() => startWorkers({ hapax: bench().hapax, ledger: ledger as never })).toThrow(message)
})
